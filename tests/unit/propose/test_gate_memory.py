"""No result depends on memory that the call didn't write: not on the host, and not in a kernel."""

from __future__ import annotations

import pytest

from kernelband.source.model import Program
from tests.unit.propose.gate_world import HEAD, KEEPER, KERNEL, PLAIN, kernel, kind_of, program_of, with_lines

HOST = [
    "if y[0] == 1: return y",
    "if float(y[0]) > 0: return y",
    "z = bool(y.view(-1)[0])",
    "z = int(y[0])",
    "if y.view(-1)[0]: pass",
    "while y[0] > 0: break",
    "assert y[0] == 0",
    "z = max(y)",
    "z = sum(y)",
    "z = str(y)",
    "z = f'{y}'",
    "z = y * 0",
    "z = 1 if y[0] else 2",
    "z = y[0] and 1",
    "z = not y[0]",
    "z = [a for a in y if a > 0]",
    "z = any(y)",
    "z = [1, 2][y[0]]",
    "z = range(y[0])",
    "if x[0] == 5: pass",
    "z = int(x[0])",
    "e = torch.empty(3)\nk[(1,)](x, e, n, BLOCK=64)",
    "z = y + x",
    "z = torch.empty(1) == 0",
    "z = x.new_empty(3)\nif z[0] > 1: pass",
    "v = y.view(-1)\nv = v[0]\nif v > 1: pass",
    "z = y.reshape(-1)[0] in (1, 2)",
    "z = {y: 1}",
    "sorted(y)",
    "z = x @ x",
    "{x: 1}",
    "x in [y]",
    "k[(1,)](x, x, n, BLOCK=64)",
    "k[(1,)](x, y, n, y, BLOCK=64)",
    "y.sum()",
    "if y.sum() > 0: pass",
    "z = torch.empty(3).sum()",
    "if x is y: pass",
    "z = math.floor(y[0])",
    "z = {y}",
    "z = -y",
    "e = x.new_empty(9)\nk.run(x, e, n, grid=(1,), BLOCK=64)",
    "z = cache.get(y)",
]
LOADS = [
    "d = tl.make_tensor_descriptor(y, shape=[n], strides=[1], block_shape=[BLOCK])\nz = d.gather(i, 0)",
    "z = tl.load(y + i)",
    "if tl.load(y) != 0:\n    return",
    "p = y + i\nz = tl.load(p)",
    "z = tl.load(pointer=y + i)",
    "z = tl.load(tl.where(i < n, x + i, y + i))",
    "z = tl.load((x if n else y) + i)",
    "p = tl.make_block_ptr(y, (n,), (1,), (0,), (BLOCK,), (0,))\nz = tl.load(p)",
    "p = tl.make_block_ptr(y, (n,), (1,), (0,), (BLOCK,), (0,))\nz = tl.load(tl.advance(p, (0,)))",
    "d = tl.make_tensor_descriptor(y, shape=[n], strides=[1], block_shape=[BLOCK])\nz = d.load([0])",
    "d = tl.make_tensor_descriptor(base=y, shape=[n], strides=[1], block_shape=[BLOCK])\nz = tl.load_tensor_descriptor(d, [0])",
    "z = tl.atomic_add(y + i, 0.0)",
    "if tl.atomic_max(y, 0) > 0:\n    return",
    "z = tl.atomic_cas(y, 0, 0)",
    "f = tl.load\nz = f(y + i)",
    "z = tl.load(tl.multiple_of(y, 16) + i)",
    "p = x\np = y\nz = tl.load(p + i)",
    "p = (x, y)[1]\nz = tl.load(p + i)",
    "p, q = y, x\nz = tl.load(p + i)",
    "p = y.to(tl.int64)\nz = tl.load(p.to(tl.pointer_type(tl.float32)))",
    "p = y.to(tl.int64) * 1\nz = tl.load(p.to(tl.pointer_type(tl.float32)))",
    "p = tl.cast(tl.cast(y, tl.int64), tl.pointer_type(tl.float32))\nz = tl.load(p)",
    "x = y\nz = tl.load(x + i)",
    "y += i\nz = tl.load(y)",
    "z = tl.load(i + y)",
    "z = (y + i).load()",
    "z = tl.load(y - -1)",
    "z = tl.load(*(y,))",
    "z = tl.load(-(-y.to(tl.int64)))",
    "z = tl.store\nz(x, 1)",
]
HELPERS = f"""{HEAD}

@triton.jit
def first(p):
    return tl.load(p)


{KERNEL.replace("tl.load(x + i, mask=i < n)", "first(x + i)")}

def copy(x):
    y = torch.empty_like(x)
    k[(1,)](x, y, x.numel(), BLOCK=64)
    return y
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    return {text: program_of(text, tmp_path_factory.mktemp("memory")) for text in (PLAIN, KEEPER, HELPERS)}


@pytest.mark.parametrize("lines", HOST)
def test_the_host_reads_no_elements(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[KEEPER], "copy", with_lines(KEEPER, "copy", after=lines)) == "memory"


@pytest.mark.parametrize("lines", LOADS)
def test_a_kernel_loads_from_no_output(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[PLAIN], "k", kernel(lines)) == "memory"


def test_an_output_under_another_name_is_one(programs: dict[str, Program]) -> None:
    renamed = kernel("if tl.load(out) != 0:\n    return", "x, out, n, BLOCK: tl.constexpr").replace("tl.store(y", "tl.store(out")
    assert kind_of(programs[PLAIN], "k", renamed) == "memory"


def test_an_output_given_to_a_helper_is_loaded_there(programs: dict[str, Program]) -> None:
    assert kind_of(programs[HELPERS], "k", kernel("z = first(x)")) == ""
    assert kind_of(programs[HELPERS], "k", kernel("z = first(y + i)")) == "memory"


def test_a_parameter_of_the_kernels_own_is_scratch(programs: dict[str, Program]) -> None:
    own = kernel("tl.store(s + i, 1.0)\nz = tl.load(s + i)\nz = tl.atomic_add(s, 1)", "x, y, n, s, BLOCK: tl.constexpr")
    assert kind_of(programs[PLAIN], "k", own) == ""


@pytest.mark.parametrize(("made", "kind"), [("empty", "memory"), ("zeros", "")])
def test_scratch_for_one_launch_is_zeroed(programs: dict[str, Program], made: str, kind: str) -> None:
    lines = f"s = torch.{made}(8, device=x.device)\nk[(1,)](x, y, n, s, BLOCK=64)"
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=lines)) == kind
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=lines + "\nk[(1,)](s, y, n, BLOCK=64)")) == ""
