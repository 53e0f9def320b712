"""Nothing outlives a call, whatever name it goes by, and nothing is written that the original leaves alone."""

from __future__ import annotations

import pytest

from kernelband.source.model import Program
from tests.unit.propose.gate_world import KEEPER, METHODS, PLAIN, kernel, kind_of, program_of, with_lines

#: What the list of names refuses already: there is no other way to these.
NAMES = [
    "setattr(x,'a',y)",
    "torch.cuda.Stream()",
    "torch.cuda.CUDAGraph()",
    "torch.cuda.MemPool()",
    "torch.cuda.graph(None)",
    "torch.cuda.current_stream()",
    "torch.library.Library('a', 'DEF')",
    "x.record_stream(y)",
    "x.register_hook(print)",
    "functools.lru_cache(None)(lambda a: y)",
    "functools.partial(print, y)",
    "id(x)",
    "hash(x)",
    "x.untyped_storage()",
    "x._version",
    "torch.is_grad_enabled()",
    "torch._C",
    "torch.cuda.memory_allocated()",
    "torch.are_deterministic_algorithms_enabled()",
    "type(x)",
    "x.__class__",
    "os.environ['A']",
    "torch.utils.data",
    "x.grad_fn",
    "x.copy_(y)",
    "x.item()",
    "y.isnan()",
    "y.sum()",
    "globals()",
    "k.device_caches",
]
PLAIN_STATE = [
    "torch.kb = y",
    "tl.kb = y",
    "k.cache = y",
    "x.kb = y",
    "y._kb = x",
    "x.fill_(0)",
    "x[0] = 0",
    "x.zero_()",
    "x += 1",
    "x.data.zero_()",
    "v = x.view(-1)\nv[0] = 1",
    "f = x.zero_\nf()",
    "for x[0] in [1]: pass",
    "(x[0], z) = (1, 2)",
    "[0 for x[0] in [1]]",
    "x.view(-1)[0] = 1",
    "def g(t):\n    t[0] = 1\ng(x)",
    "(lambda t: t.zero_())(x)",
    "[t.zero_() for t in (x,)]",
    "x *= 2",
    "map(x.fill_, [1])",
    "k[(1,)](x, y, n, BLOCK=64).kb = 1",
    "torch.zeros(3, out=x)",
    "torch.full((3,), 1, out=x)",
]
#: In a function that keeps sizes in a dictionary, a list, a default and a global tensor.
KEPT = [
    "_SCRATCH.fill_(1)",
    "_SCRATCH[0] = 1",
    "_SCRATCH.data.fill_(1)",
    "_SCRATCH.view(-1)[0] = 1",
    "z = blank\nz[0] = 1",
    "k[(1,)](x, _SCRATCH, n, BLOCK=64)",
    "k.run(x, blank.view(4, 4), n, grid=(1,), BLOCK=64)",
    "_BLOCKS[n] = y",
    "_BLOCKS.update({n: y})",
    "_BLOCKS.setdefault(n, y)",
    "c = _BLOCKS\nc[n] = y",
    "c = _BLOCKS\nc |= {n: y}",
    "_SEEN.append(y)",
    "put = _SEEN.append\nput(y)",
    "list(map(_SEEN.append, [y]))",
    "[*map(_SEEN.append, [y])]",
    "cache[n] = y",
    "cache.update({n: y})",
    "cache.setdefault(n, y)",
    "block = y\n_BLOCKS[n] = block",
    "size = y\ncache[n] = size",
    "(_BLOCKS if n else {})[n] = y",
    "for c in [_BLOCKS]:\n    c[n] = y",
    "[c.setdefault(n, y) for c in [_BLOCKS]]",
    "def g():\n    return _BLOCKS\ng()[n] = y",
    "def g(c):\n    c[n] = y\ng(_BLOCKS)",
    "with torch.cuda.device(x.device) as _BLOCKS[n]: pass",
    "note(y)",
    "note((y,))",
    "z = [_BLOCKS]\nz[0][n] = y",
    "key = x.data_ptr()\nhit = key in _BLOCKS",
    "if x.data_ptr() == 4: pass",
    "total.zero_()",
    "(c := _BLOCKS)[n] = y",
    "_BLOCKS[n], z = y, 1",
    "_BLOCKS[n] += y",
    "d = dict(a=_BLOCKS)\nd['a'][n] = y",
    "s = torch.cuda.current_stream()",
    "size = x.data_ptr()",
    "cache[x.data_ptr() % 16] = n",
    "o = note\no(y)",
    "list(map(note, [y]))",
]
#: In the method of a module, and in an autograd function.
LAYER = [
    "y.last = n",
    "for y.last in range(n): pass",
    "self.memo = y",
    "self.last = y",
    "n = y\nself.last = n",
    "self.remember(y)",
    "r = self.remember\nr(y)",
    "self.block.append(y)",
    "list(map(self.remember, [y]))",
    "self.last += y",
    "for self.last in [y]: pass",
    "s = self\ns.last = y",
    "self.block[0] = y",
    "self.block.zero_()",
    "m = [self]\nm[0].last = y",
    "z = [self.remember]\nz[0](y)",
    "def g(o):\n    o.last = y\ng(self)",
    "self.last, z = y, 1",
    "(lambda o: o.remember(y))(self)",
    "self.remember(n, y)",
    "self.remember(*[y])",
    "self.remember([y])",
    "self.remember(lambda: y)",
    "self.last: int = y",
    "with torch.cuda.device(x.device) as self.last: pass",
]
OP = [
    "ctx.save_for_backward(x, y)",
    "ctx.save_for_backward(*[x, y])",
    "ctx.other = y",
    "ctx.block = y",
    "block = y",
    "save = ctx.save_for_backward\nsave(y)",
    "block = x\nctx.block = block",
    "ctx.save_for_backward(y)",
    "[ctx.save_for_backward(t) for t in (y,)]",
]
INPUTS = [
    "tl.store(x + i, 0.0)",
    "tl.atomic_add(x + i, 1.0)",
    "p = x\ntl.store(p, 0)",
    "d = tl.make_tensor_descriptor(x, shape=[n], strides=[1], block_shape=[BLOCK])\nd.store([0], 1)",
    "tl.store(value=0.0, pointer=x + i)",
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    return {text: program_of(text, tmp_path_factory.mktemp("state")) for text in (PLAIN, KEEPER, METHODS)}


@pytest.mark.parametrize("lines", NAMES)
def test_no_name_leads_there(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=lines)) == "name"


@pytest.mark.parametrize("lines", PLAIN_STATE)
def test_a_plain_function_keeps_nothing_and_writes_no_argument(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=lines)) == "state"


@pytest.mark.parametrize("lines", KEPT)
def test_what_the_users_function_keeps_takes_nothing_else(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[KEEPER], "copy", with_lines(KEEPER, "copy", after=lines)) == "state"


@pytest.mark.parametrize("lines", LAYER)
def test_a_module_keeps_what_it_kept(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[METHODS], "Layer.forward", with_lines(METHODS, "Layer.forward", after=lines)) == "state"


@pytest.mark.parametrize("lines", OP)
def test_an_autograd_function_saves_what_it_saved(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[METHODS], "Op.forward", with_lines(METHODS, "Op.forward", after=lines)) == "state"


@pytest.mark.parametrize("lines", INPUTS)
def test_a_kernel_stores_to_no_input(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[PLAIN], "k", kernel(lines)) == "state"


def test_a_default_of_a_function_inside_is_new_with_every_call(programs: dict[str, Program]) -> None:
    assert (
        kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after="def g(a, seen={}):\n    seen[0] = a\n    return a\ng(n)")) == ""
    )
