"""What a host function asks for, learned without compiling; and how host functions are told apart."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import triton

from kernelband_worker.compiler import specialise as subject
from kernelband_worker.compiler.compile import compile_launch
from kernelband_worker.compiler.specialise import host_hash, specialise
from kernelband_worker.cpu import driver
from kernelband_worker.errors import OperationFailed


class Replay:
    """A case whose host function is given."""

    def __init__(self, function, launches=()):
        place = {"module": "sample_kernels", "path": "sample_kernels.py", "qualname": "host"}
        self.case = {"function": place, "launches": list(launches)}
        self._function = function

    def inputs(self, number):
        return number

    def choices(self, variant):
        return {}

    def call(self, variant, prepared):
        return self._function()


@pytest.fixture
def case(state, monkeypatch):
    """``case(function)``: the session's only case calls it."""
    driver.install({"backend": "cuda", "arch": 90, "warp_size": 32}, {"max_shared_mem": 232448})
    monkeypatch.setitem(state.session, "target", {"backend": "cuda", "arch": 90, "warp_size": 32})
    loader = state.loader
    text = {"sample_kernels": "def host():\n    return 1\n"}
    for name, value in {"place": lambda code: None, "edited": lambda variant: [], "text": lambda variant, module: text.get(module)}.items():
        monkeypatch.setattr(loader, name, value, raising=False)

    def use(function, **more):
        replay = Replay(function, **more)
        monkeypatch.setattr(subject, "open_case", lambda state, name: replay)
        return {"variant": None, "cases": ["c"]}

    return use


def test_a_launch_is_learned_and_compiles(state, case, compiled):
    torch = pytest.importorskip("torch")
    kernels = sys.modules["sample_kernels"]
    x = torch.zeros(5000)

    def host():
        kernels.add[(5,)](x, x, x, 5000, BLOCK=1024, num_warps=8)

    result = specialise(state, case(host))
    (launch,) = result["launches"]
    assert launch["grid"] == [5, 1, 1]
    assert launch["scalars"] == {"n": 5000}
    assert launch["constants"] == {"BLOCK": 1024}
    run_time = {k: v for k, v in launch["signature"].items() if v != "constexpr"}  # before 3.3 constants are left out
    assert run_time == {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    assert launch["aligned"] == ["out", "x", "y"]  # 5000 is no multiple of 16
    assert launch["small"] == ["out", "x", "y"]
    assert launch["options"]["num_warps"] == 8
    assert launch["target"]["arch"] == 90
    facts = compiled({**launch, "kernel": {**launch["kernel"], "module": "sample_kernels", "qualname": "add"}}, instructions=False)
    assert facts["num_warps"] == 8
    assert facts["key"] == launch["key"]
    assert set(result["host_hash"]) == {"sample_kernels:host", "sample_kernels:"}


@pytest.mark.skipif(triton.__version__ < "3.3", reason="Triton 3.2 itself refuses a jit function as a constant")
def test_a_jit_function_as_constant_crosses_over(state, case, compiled):
    torch = pytest.importorskip("torch")
    kernels = sys.modules["sample_kernels"]
    x = torch.zeros(64, 64, dtype=torch.float16)

    def host():
        sizes = {"BM": 32, "BN": 32, "BK": 32}
        kernels.matmul[(4,)](x, x, x, 64, 64, 64, 64, 1, 64, 1, 64, 1, ACTIVATION=kernels.relu, **sizes)

    (launch,) = specialise(state, case(host))["launches"]
    facts = compiled(launch, instructions=False)
    assert facts["tensor_core"] is not None
    assert launch["constants"]["sak"] == 1


def test_a_kernel_inside_a_function_is_compiled_by_running_that_function(state, case, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    import importlib.util

    path = tmp_path / "closure_module.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n"
        "def outer(x):\n"
        "    @triton.jit\n"
        "    def inner(p, BLOCK: tl.constexpr):\n"
        "        at = p + tl.arange(0, BLOCK)\n"
        "        tl.store(at, tl.load(at) + 1)\n\n"
        "    inner[(1,)](x, BLOCK=64)\n"
    )
    spec = importlib.util.spec_from_file_location("closure_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = torch.zeros(64)
    (launch,) = specialise(state, case(lambda: module.outer(x)))["launches"]
    assert "<locals>" in launch["kernel"]["qualname"]
    facts = compile_launch(state, {"launch": launch, "target": launch["target"]})
    assert facts["registers"] > 0


def test_a_failing_host_function_is_a_sentence(state, case):
    def host():
        raise ValueError("BLOCK must be a power of 2")

    with pytest.raises(OperationFailed) as caught:
        specialise(state, case(host))
    assert "host failed before its launch: ValueError: BLOCK must be a power of 2" in caught.value.message
    assert "raise ValueError" in caught.value.data["detail"]


BEFORE = '''
"""Doc."""
BLOCK = 64
def host(x):
    return x + 1
class A:
    @staticmethod
    def run(x):
        def inner():
            return x
        return inner
'''


def test_host_hash_sees_code_not_layout():
    old = host_hash({"m": BEFORE})
    assert set(old) == {"m:", "m:host", "m:A.run", "m:A.run.<locals>.inner"}
    commented = BEFORE.replace("    return x + 1", "    # why\n\n    return (x+1)")
    assert host_hash({"m": commented}) == old
    changed = host_hash({"m": BEFORE.replace("x + 1", "x + 2")})
    assert {k for k in old if old[k] != changed[k]} == {"m:host"}
    outside = host_hash({"m": BEFORE.replace("BLOCK = 64", "BLOCK = 128")})
    assert {k for k in old if old[k] != outside[k]} == {"m:"}
    inner = host_hash({"m": BEFORE.replace("            return x\n", "            return -x\n")})
    assert {k for k in old if old[k] != inner[k]} == {"m:A.run", "m:A.run.<locals>.inner"}


def test_a_function_defined_twice_has_two_hashes():
    twice = "if True:\n    def f(): return 1\nelse:\n    def f(): return 2\n"
    assert set(host_hash({"m": twice})) == {"m:", "m:f", "m:f#2"}


def test_the_session_target_is_the_drivers_on_a_gpu(monkeypatch):
    class Current:
        backend, arch, warp_size = "cuda", 90, 32

    active = SimpleNamespace(get_current_target=lambda: Current)
    driver_module = sys.modules["triton.runtime.driver"]
    monkeypatch.setattr(driver_module, "driver", SimpleNamespace(active=active))
    found = subject._target(SimpleNamespace(role="gpu", session={"target": {"backend": "hip"}}))
    assert found == {"backend": "cuda", "arch": 90, "warp_size": 32}
