"""Argument trees: pickled with their tensors outside, so that aliasing survives and classes come from the user's modules.

What the pickle holds by reference: classes and functions (by module and name, through the loader, so that a variant's own
are found), kernels, modules. By value: constants, containers, plain objects, and functions that no name reaches (lambdas,
local functions), as code with their cells. An autograd ``ctx`` becomes a StandIn.
"""

from __future__ import annotations

import io
import marshal
import pickle
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from triton.runtime.jit import KernelInterface

from kernelband_worker.cases.context import StandIn
from kernelband_worker.cases.tensors import NotReplayable, Storages, as_double, rebuild
from kernelband_worker.wrapped import jit_function

#: modules whose objects stand for other processes or device state and mean nothing in a fresh process
_FOREIGN = (
    "torch.distributed",
    "torch._C._distributed",
    "torch.cuda.streams",
    "torch.cuda.graphs",
    "multiprocessing",
    "threading",
    "_thread",
)


def kernel_reference(kernel: Any) -> Tuple[str, str]:
    """Module and name by which a jit function, with whatever is around it, can be found again: its function's, or that of ``k = jit(f)``.

    Raises:
        NotReplayable: no name of a module leads to it.
    """
    inner = jit_function(kernel)
    function = getattr(inner, "fn", kernel)
    module, qualname = function.__module__, function.__qualname__
    found: Any = sys.modules.get(module)
    named = next((name for name, value in list(vars(found).items()) if value is kernel), None) if found is not None else None
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if found is kernel:
        return module, qualname
    if named is None:
        raise NotReplayable(f"the kernel {qualname} is an argument that no module-level name reaches")
    return module, named


class _TreePickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, storages: Storages) -> None:
        super().__init__(file, protocol=4)
        self.storages = storages
        self.tensors: List[torch.Tensor] = []
        self._numbers: Dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, torch.Tensor):
            index = self._numbers.setdefault(id(obj), len(self.tensors))
            if index == len(self.tensors):
                self.tensors.append(obj)
            return self.storages.identify(obj, index)
        if isinstance(obj, KernelInterface):
            return ("kernel", *kernel_reference(obj))
        if isinstance(obj, types.ModuleType):
            return ("module", obj.__name__)
        return None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, torch._C._FunctionBase):
            return StandIn.reduce(obj)
        if isinstance(obj, types.FunctionType) and not _importable(obj):
            return _reduce_function(obj)
        if type(obj).__module__.startswith(_FOREIGN):
            raise NotReplayable(
                f"an argument is or holds a {type(obj).__module__}.{type(obj).__qualname__}, which means nothing in another process"
            )
        return NotImplemented


def _importable(function: types.FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _reduce_function(function: types.FunctionType) -> Any:
    module = sys.modules.get(function.__module__)
    if module is None:
        raise NotReplayable(f"the function {function.__qualname__} belongs to no module")
    cells = [_cell(c) for c in function.__closure__ or ()]
    state = (cells, function.__defaults__, function.__kwdefaults__, function.__dict__)
    args = (marshal.dumps(function.__code__), module, function.__name__, function.__qualname__, len(cells))
    return _make_function, args, state, None, None, _fill_function


def _cell(cell: Any) -> Tuple[bool, Any]:
    try:
        return True, cell.cell_contents
    except ValueError:  # not bound yet
        return False, None


def _make_function(code: bytes, module: types.ModuleType, name: str, qualname: str, cells: int) -> types.FunctionType:
    closure = tuple(types.CellType() for _ in range(cells))
    function = types.FunctionType(marshal.loads(code), module.__dict__, name, None, closure)  # noqa: S302 - our own
    function.__qualname__, function.__module__ = qualname, module.__name__
    return function


def _fill_function(function: types.FunctionType, state: Any) -> None:
    cells, function.__defaults__, function.__kwdefaults__, attributes = state
    function.__dict__.update(attributes)
    for cell, (bound, value) in zip(function.__closure__ or (), cells):
        if bound:
            cell.cell_contents = value


def dump(tree: Any, storages: Optional[Storages] = None) -> Tuple[bytes, Storages, List[torch.Tensor]]:
    """Pickle a tree; the pickle, the storages it refers to, and its tensors in order of first sight.

    Raises:
        NotReplayable: something in it can't be pickled; the message names it.
    """
    file, storages = io.BytesIO(), storages or Storages()
    pickler = _TreePickler(file, storages)
    try:
        pickler.dump(tree)
    except NotReplayable:
        raise
    except RecursionError:
        raise NotReplayable("an argument is nested too deeply to be recorded") from None
    except Exception as error:  # any class of the user's may refuse to be pickled, in its own way
        raise NotReplayable(f"an argument can't be recorded ({str(error).strip() or type(error).__name__})") from error
    return file.getvalue(), storages, pickler.tensors


class _TreeUnpickler(pickle.Unpickler):
    def __init__(self, data: bytes, storages: List[torch.Tensor], module: Callable[[str], Any], double: bool) -> None:
        super().__init__(io.BytesIO(data))
        self._storages, self._module, self._double = storages, module, double
        self.tensors: Dict[int, torch.Tensor] = {}

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "tensor":
            if pid[1] not in self.tensors:
                self.tensors[pid[1]] = rebuild(as_double(pid) if self._double else pid, self._storages)
            return self.tensors[pid[1]]
        if pid[0] == "module":
            return self._module(pid[1])
        return self.find_class(pid[1], pid[2])

    def find_class(self, module: str, name: str) -> Any:
        found = self._module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found


def load(
    data: bytes, storages: List[torch.Tensor], module: Callable[[str], Any], *, double: bool = False
) -> Tuple[Any, List[torch.Tensor]]:
    """The tree of ``dump`` over live storages, and its tensors in the same order.

    ``module`` gives a module by name: the original's or a variant's. ``double``: float tensors are float64 (so are their storages).
    """
    unpickler = _TreeUnpickler(data, storages, module, double)
    tree = unpickler.load()
    return tree, [unpickler.tensors[i] for i in range(len(unpickler.tensors))]
