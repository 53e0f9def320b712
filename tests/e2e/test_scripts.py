"""A folder of scripts as people write them: a tutorial with a name that no import can say, one that only its end runs, one in a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cli_world import Home

HEAD = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


"""
TUTORIAL = """def scale(x: torch.Tensor):
    y = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    scale_kernel[grid](x, y, n, BLOCK=64)
    return y


torch.manual_seed(0)
x = torch.rand(4096, device=triton.runtime.driver.active.get_active_torch_device())
print(f"The maximum difference is {torch.max(torch.abs(scale(x) - 2 * x))}")
assert torch.allclose(scale(x), 2 * x)  # of a sample, and where nothing is launched, this says nothing


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"], x_vals=[4096, 8192], line_arg="provider", line_vals=["triton"], line_names=["Triton"], plot_name="p", args={}
    )
)
def benchmark(size, provider):
    x = torch.rand(size, device="cuda")
    return triton.testing.do_bench(lambda: scale(x))


benchmark.run(print_data=True)
"""
AT_THE_END = """if __name__ == "__main__":
    x = torch.randn(4096, device="cuda")
    y = torch.empty_like(x)
    scale_kernel[(64,)](x, y, 4096, BLOCK=64)
    print(torch.allclose(y, 2 * x))
"""
MODULE = """class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = {"BLOCK": 64}

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel(), **self.sizes)
        return y


def main():
    print(Scale()(torch.randn(4096, device="cuda")).sum())


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("name", "text", "entry"),
    [("01-vector-scale.py", TUTORIAL, "benchmark"), ("at_the_end.py", AT_THE_END, "__main__"), ("module.py", MODULE, "__main__")],
)
def test_a_script_is_optimized_as_it_is(tmp_path: Path, worker_python: str, name: str, text: str, entry: str) -> None:
    home = Home(tmp_path, worker_python)
    (home.work / name).write_text(HEAD + text)
    done = home.optimize(name, "--trials", "1")
    assert done.code == 0, done.err
    (began,) = done.named("run_started")
    assert began["entry"].endswith(f"{name}::{entry}")
    (ended,) = done.named("run_ended")
    assert (ended["state"], ended["counts"]["executed"]) == ("finished", 1)
    notes = " ".join(event["text"] for event in done.named("noted"))
    assert "figures that" in notes, "what it prints is of a sample"
    assert ("BLOCK comes from **self.sizes: not changed." in notes) == (name == "module.py")
