"""Under the worker's Python: calls the original and each variant, on the GPU or on the CPU under Triton's interpreter, and compares.

    calls.py cpu|cuda|sm_90

With "sm_90" every launch is compiled for that GPU instead, and not run: the interpreter knows no types and has no caches.

Each line of standard input: {"example": name or "", "texts": [original, variant, ...]}; a text of no example has ``run(device)``,
``outputs()`` or ``results()``. Each answer is a line of standard output: a list with null for equal, else what differs.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import types

DEVICE = sys.argv[1]
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402  # after the variable that it reads
import triton  # noqa: E402
from triton.runtime import interpreter  # noqa: E402

torch.set_default_device("cpu" if DEVICE == "sm_90" else DEVICE)
if DEVICE == "cpu":  # the interpreter can't time: an autotuner takes its first configuration

    def first(self, *args, **options):
        kept = {**options, **self.configs[0].all_kwargs()}
        return self.fn.run(*args, **{k: v for k, v in kept.items() if k not in ("num_warps", "num_stages", "num_ctas", "maxnreg")})

    triton.runtime.autotuner.Autotuner.run = first
    # As soundness/machine.py has it: what nobody looks at here would take half of the time.
    language = types.SimpleNamespace(__globals__={"tl": triton.language, "core": triton.language.core})
    interpreter._patch_lang(language)
    interpreter._patch_lang = lambda _: types.SimpleNamespace(restore=lambda: None)
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)


class Driver:
    """What the compiler asks a driver for."""

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


def compile_only():
    """Launches compile, and no more."""
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    driver.set_active(Driver())
    run = JITFunction.run
    JITFunction.run = lambda self, *args, **options: run(self, *args, **{**options, "warmup": True})


def load(text, name):
    """A module of that text; linecache serves it to Triton, which reads the source of each kernel."""
    path = f"/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype)


def batched_matmul(module):
    for batch, m, n, k in ((2, 64, 128, 64), (1, 100, 72, 40)):
        yield module.bmm(normal(batch, m, k, dtype=torch.float16), normal(batch, k, n, dtype=torch.float16))
    yield module.bmm(normal(2, 40, 24, dtype=torch.float16), normal(2, 48, 24, dtype=torch.float16).transpose(1, 2))


def flash_attention(module):
    for shape, causal in (((1, 2, 128, 32), True), ((1, 1, 100, 16), True), ((1, 1, 90, 16), False)):
        yield module.flash_attention(*(normal(*shape, dtype=torch.float16) for _ in range(3)), causal)


def layer_norm_backward(module):
    for rows, features, dtype in ((36, 200, torch.float32), (32, 128, torch.float16), (1, 40, torch.float16)):
        given = normal(rows, features, dtype=dtype), normal(rows, features, dtype=dtype), normal(features, dtype=dtype)
        yield from module.layer_norm_backward(*given, 0.1 * normal(rows), torch.rand(rows))


def rotary(module):
    for shape, dtype in (((2, 8, 4, 64), torch.float32), ((1, 5, 3, 80), torch.float16), ((1, 1, 1, 6), torch.float32)):
        x = normal(*shape, dtype=dtype).requires_grad_()
        y = module.rope(x, *(normal(shape[1], shape[3] // 2) for _ in range(2)))
        yield y.detach()
        yield torch.autograd.grad(y, x, normal(*shape, dtype=dtype))[0]


def embeddings(module):
    for count, dim, shape in ((50, 512, (3, 5)), (40, 300, (7,)), (9, 33, (1, 1))):
        yield module.Embedding(count, dim)(torch.randint(0, count, shape))


def losses(module):
    for rows, columns, dtype in ((5, 5000, torch.float32), (4, 8192, torch.float16), (3, 100, torch.float32)):
        labels = torch.randint(0, columns, (rows,))
        labels[1] = -100
        yield module.cross_entropy(3 * normal(rows, columns, dtype=dtype), labels)


def rows_of(name, *cases, weight=False):
    """Calls of a function of a matrix, and of a weight for its columns."""

    def made(module):
        for *shape, dtype in cases:
            x = normal(*shape, dtype=dtype)
            found = getattr(module, name)(x, *([normal(shape[-1], dtype=dtype)] if weight else []))
            yield from found if isinstance(found, tuple) else (found,)

    return made


SINGLE, HALF = torch.float32, torch.float16
MORE = {
    "batched_matmul": batched_matmul,
    "column_sum": rows_of("column_sum", (600, 200, SINGLE), (256, 64, HALF), (1, 100, HALF)),
    "cross_entropy": losses,
    "flash_attention": flash_attention,
    "gather": embeddings,
    "layer_norm_bwd_dx_kernel": layer_norm_backward,
    "layer_norm_bwd_dwdb_kernel": layer_norm_backward,
    "rms_norm": rows_of("rms_norm", (7, 1000, SINGLE), (8, 1024, HALF), (2, 3, 100, HALF), weight=True),
    "rope": rotary,
    "row_quantize": rows_of("quantize_rowwise", (9, 500, SINGLE), (8, 1024, HALF), (1, 5, SINGLE)),
    "scan": rows_of("cumsum", (5, 3000, SINGLE), (8, 2048, SINGLE), (1, 100, SINGLE)),
    "swiglu": rows_of("silu_and_mul", (5, 1200, SINGLE), (4, 2048, HALF), (1, 2, 200, HALF)),
}


def calls(example, module):
    """Outputs of the example's function, for shapes that are multiples of blocks and shapes that are not; a sample calls itself."""
    torch.manual_seed(0)
    if example == "vector_add":
        for n in (20 * 1024, 9000, 1):
            yield module.add(torch.rand(n), torch.rand(n))
    elif example == "fused_softmax":
        for shape in ((37, 781), (9, 1024), (3, 100)):
            yield module.softmax(torch.randn(shape))
    elif example == "layer_norm":
        for rows, features, dtype in ((5, 1000, torch.float32), (3, 2048, torch.float16), (1, 100, torch.float16)):
            yield module.layer_norm(torch.randn(rows, features).to(dtype), torch.rand(features).to(dtype), torch.rand(features).to(dtype))
    elif example == "matmul":
        for m, n, k in ((96, 160, 72), (64, 64, 32)):
            yield module.matmul(torch.randn(m, k).half(), torch.randn(k, n).half())
    elif example:
        yield from MORE[example](module)
    elif hasattr(module, "run"):
        yield from module.run(DEVICE)
    elif hasattr(module, "outputs"):
        yield from module.outputs()
    else:
        yield from module.results()


def tolerance(want):
    """torch.testing's, the absolute one in units of the output's root mean square."""
    if want.dtype == torch.float16:
        return {"rtol": 1e-2, "atol": 1e-2}
    if want.dtype == torch.float32:
        return {"rtol": 1.3e-6, "atol": 1e-5 * max(1.0, want.square().mean().sqrt().nan_to_num(1.0).item())}
    if want.dtype == torch.float64:
        return {"rtol": 1e-12, "atol": 1e-12}
    return {"rtol": 0, "atol": 0}


def difference(example, text, name, expected):
    """One sentence, or None when all outputs are equal up to rounding."""
    try:
        found = list(calls(example, load(text, name)))
        if DEVICE == "sm_90":
            return None
        if len(found) != len(expected):
            return f"{len(found)} results instead of {len(expected)}"
        for want, got in zip(expected, found):  # noqa: B905  # Python 3.9
            torch.testing.assert_close(got, want, equal_nan=True, **tolerance(want))
    except Exception as error:  # noqa: BLE001  # whatever the variant does wrong is what is reported
        return f"{type(error).__name__}: {error}"
    return None


def main():
    answers, sys.stdout = sys.stdout, sys.stderr
    if DEVICE == "sm_90":
        compile_only()
    for line in sys.stdin:
        job = json.loads(line)
        expected = list(calls(job["example"], load(job["texts"][0], "original")))
        told = [difference(job["example"], text, f"variant_{i}", expected) for i, text in enumerate(job["texts"])]
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
