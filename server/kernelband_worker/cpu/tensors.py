"""'cuda' means the CPU: a mode of torch that takes device arguments to the CPU and lets tensors say that they are on the device.

A mode sees every call of torch's API, factory functions included, without patching any. Tensors that the program keeps on the host
(made with no device, or brought back by ``.cpu()``) are told apart, so that copies between host and device stay copies.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, Dict, Iterator, List, Sequence, Set, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device
from torch.utils._pytree import tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from kernelband_worker.cpu import room
from kernelband_worker.cpu.memory import Memory

#: What the device is called by programs for NVIDIA and for AMD alike.
DEVICE = torch.device("cuda", 0)
_CPU = torch.device("cpu")

# fmt: off
#: Functions whose result's elements each come from the elements at the same place: unknown elements stay where they are.
_POINTWISE = frozenset((
    "to", "clone", "contiguous", "float", "half", "bfloat16", "double", "int", "long", "bool", "type", "detach", "cpu", "cuda",
    "copy_", "add", "sub", "mul", "div", "true_divide", "neg", "abs", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__",
    "__rmul__", "__truediv__", "__rtruediv__", "__neg__", "add_", "sub_", "mul_", "div_", "square", "pow", "exp", "log", "sqrt",
    "rsqrt", "sigmoid", "tanh", "relu", "silu", "gelu", "clamp", "where", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge",
    "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_not",
))
#: Functions that only look, or give nothing that holds elements.
_LOOKING = frozenset((
    "size", "stride", "dim", "numel", "element_size", "data_ptr", "storage_offset", "is_contiguous", "untyped_storage", "__get__",
    "__len__", "__hash__", "__repr__", "backward", "requires_grad_", "ndimension", "nelement", "is_floating_point", "retain_grad",
    "register_hook",
))
# fmt: on
#: Functions that take a function of the program's, which torch calls later.
_HOOKING = ("register_hook", "register_post_accumulate_grad_hook")
#: Functions that write to their first argument without saying so in their name.
_IN_PLACE = ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "__iand__", "__ior__", "__setitem__")
#: Functions that write over all of their first argument.
_OVERWRITING = ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_")


class _Now(threading.local):
    on_device = False


class DeviceMode(TorchFunctionMode):
    """Active for the whole life of an executor without a GPU."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self._host = WeakTensorKeyDictionary()  # tensors that the program keeps on the host
        self._constructors = _device._device_constructors()
        self.default = _CPU  # of torch.set_default_device
        self.namespaces: Set[str] = set()  # of operators whose kernels are the program's, and run with this mode on
        self.replaces = False  # whether the program has replaced operators of torch, so that what follows is kept
        self._now = _Now()

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.device:  # what the program calls its device stays what it is
            return torch.device("cuda", *args) if len(args) == 1 and type(args[0]) is int else func(*args, **kwargs)
        if getattr(func, "__module__", "").rpartition("torch._ops.")[2] in self.namespaces:
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self._attribute(func, args)
        if name in ("cuda", "cpu") and args and isinstance(args[0], torch.Tensor):
            return self._moved(args[0], to_host=name == "cpu")
        if name == "get_device" and args:
            return -1 if self.is_host(args[0]) else 0
        if name == "pin_memory":
            return args[0]
        if name in _HOOKING and len(args) > 1:
            args = (args[0], self.inside(args[1]), *args[2:])
        wanted = self._device_of(func, args, kwargs)
        args, kwargs = _on_cpu(args), _on_cpu(kwargs)
        kwargs.pop("pin_memory", None)
        if func in self._constructors and wanted is not None and wanted.type == "cuda":
            self._make_room(func, args, kwargs)
        if name == "to" and wanted is not None:
            return self._to(func, args, kwargs, to_host=wanted.type == "cpu")
        result = self._called(func, args, kwargs, wanted) if self.replaces else func(*args, **kwargs)
        if name == "__set__" and len(args) == 2 and isinstance(args[1], torch.Tensor):  # ``parameter.data = moved``
            self._place(args[0], host=self.is_host(args[1]))
            return result
        if name not in _LOOKING:
            self._follow(name, args, kwargs, result, wanted)
        return result

    def _make_room(self, func: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        missing = room.missing(func, args, kwargs)
        if missing is not None:
            self._memory.missing = missing
            raise torch.cuda.OutOfMemoryError(missing)

    def _called(self, func: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], wanted: Any) -> Any:
        tensors = [*tensors_of(args), *tensors_of(list(kwargs.values()))]
        with self._computing(self._memory.following and not self._is_on_host(tensors, wanted)):
            return func(*args, **kwargs)

    @property
    def on_device(self) -> bool:
        """Whether torch is in a call of the program's, on this thread, that computes on the device. What is ours never is."""
        return self._now.on_device

    @contextlib.contextmanager
    def _computing(self, on_device: bool) -> Iterator[None]:
        was, self._now.on_device = self._now.on_device, on_device
        try:
            yield
        finally:
            self._now.on_device = was

    def inside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the program's that torch calls from inside a call of its own: it gets the mode, which torch has left by then."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._computing(False), contextlib.nullcontext() if any(mode is self for mode in stack()) else self:
                return function(*args, **kwargs)

        return called

    # ------------------------------------------------------------ where tensors are

    def made_on_host(self, function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """A function that torch shows no mode, and whose tensors are the host's."""

        @functools.wraps(function)
        def made(*args: Any, **kwargs: Any) -> torch.Tensor:
            tensor = function(*args, **kwargs)
            self._place(tensor, host=True)
            return tensor

        return made

    def loading(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``torch.load`` that can be asked to load to the device."""

        @functools.wraps(function)
        def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            there = _on_cpu(map_location)
            loaded = function(f, there, *args, **kwargs)
            if there is not map_location:
                tree_map_only(torch.Tensor, lambda tensor: self._place(tensor, host=False), loaded)
            return loaded

        return load

    def is_host(self, tensor: Any) -> bool:
        """Whether it is a tensor that the program keeps on the host."""
        return isinstance(tensor, torch.Tensor) and tensor in self._host

    def _is_on_host(self, tensors: Sequence[torch.Tensor], wanted: Any) -> bool:
        """Whether a call computes there: one of those tensors, with a device that it names."""
        return all(map(self.is_host, tensors)) if wanted is None else wanted.type != "cuda"

    def _place(self, tensor: torch.Tensor, *, host: bool) -> None:
        if host:
            self._host[tensor] = True
        else:
            self._host.pop(tensor, None)

    def _attribute(self, func: Any, args: Tuple[Any, ...]) -> Any:
        """``tensor.device``, ``tensor.is_cuda`` and the like."""
        value = func(*args)
        owner = getattr(func, "__self__", None)
        name = getattr(owner, "__name__", "")
        if args and isinstance(args[0], torch.Tensor):
            if name in ("device", "is_cuda", "is_cpu") and args[0].device.type == "cpu":
                host = self.is_host(args[0])
                return {"device": _CPU if host else DEVICE, "is_cuda": not host, "is_cpu": host}[name]
            if isinstance(value, torch.Tensor) and value is not args[0]:  # .T, .data, .grad
                self._place(value, host=self.is_host(args[0]))
        return value

    def _device_of(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """The device that a call names; for factory functions that name none, the default."""
        named = kwargs.get("device")
        if named is None and func is torch.Tensor.to and len(args) > 1:
            named = args[1] if isinstance(args[1], (str, int, torch.device)) else None
            if isinstance(args[1], torch.Tensor):
                named = _CPU if self.is_host(args[1]) else DEVICE
        if named is None and func in self._constructors:
            current = getattr(_device, "CURRENT_DEVICE", None) or self.default
            if current.type == "cuda":
                kwargs["device"] = _CPU  # or torch's own mode would put the device back
            named = current
        if named is None:
            return None
        return DEVICE if isinstance(named, int) else torch.device(named)

    def _moved(self, tensor: torch.Tensor, *, to_host: bool) -> torch.Tensor:
        if self.is_host(tensor) == to_host:
            return tensor
        moved = self._called(torch.Tensor.clone, (tensor,), {}, _CPU)
        self._place(moved, host=to_host)
        self._flow("clone", [tensor], [moved])
        return moved

    def _to(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], *, to_host: bool) -> torch.Tensor:
        crossing = self.is_host(args[0]) != to_host
        result = self._called(func, args, kwargs, _CPU if to_host or crossing else DEVICE)
        if crossing and result is args[0]:
            result = self._called(torch.Tensor.clone, (result,), {}, _CPU)  # on a GPU this is a copy from one memory to the other
        if result is not args[0]:
            self._place(result, host=to_host)
            self._flow("to", [args[0]], [result])
        return result

    def _follow(self, name: str, args: Any, kwargs: Any, result: Any, wanted: Any) -> None:
        results = list(tensors_of(result))
        if name == "__setitem__":
            results = [args[0]]
        if not results:
            return
        out = kwargs.get("out")
        inputs = [*tensors_of(args), *tensors_of([value for key, value in kwargs.items() if key != "out"])]
        host = self._is_on_host(inputs, wanted)
        held = {id(tensor) for tensor in inputs}
        for tensor in results:
            if id(tensor) not in held and out is None:
                self._place(tensor, host=host)
        self._flow(name, inputs, results)

    # ------------------------------------------------------------ what is known

    def _flow(self, name: str, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> None:
        """What is computed from unknown elements is unknown (see ``memory``)."""
        if not self._memory.following or not self._memory:
            return
        masks = [self._memory.unknown(tensor) for tensor in inputs]
        storages = {tensor.untyped_storage().data_ptr() for tensor in inputs if tensor.layout == torch.strided}
        in_place = name in _IN_PLACE or (name.endswith("_") and not name.endswith("__"))
        for tensor in results:
            shared = tensor.layout == torch.strided and tensor.untyped_storage().data_ptr() in storages
            if shared and not in_place:
                continue  # a view: the storage knows
            relevant = masks
            if name in _OVERWRITING:
                relevant = masks[1:]
            elif name.endswith("_like") or name.startswith("new_"):
                relevant = []
            elif name == "__setitem__" and all(mask is None for mask in masks[1:]):
                continue  # which elements is not checked: what was unknown stays so
            if all(mask is None for mask in relevant):
                self._memory.mark(tensor, None)
                continue
            unknown = torch.ones((), dtype=torch.bool)
            if name in _POINTWISE or (in_place and name != "__setitem__"):
                unknown = torch.zeros((), dtype=torch.bool)
                for mask in relevant:
                    if mask is not None:
                        fits = _broadcasts(mask.shape, tensor.shape)
                        unknown = unknown | mask if fits else torch.ones((), dtype=torch.bool)
            self._memory.mark(tensor, unknown)


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return len(shape) <= len(to) and all(one in (1, other) for one, other in zip(reversed(shape), reversed(to)))


def _on_cpu(value: Any) -> Any:
    """Device arguments that name the GPU name the CPU; in nested tuples, lists and dicts too."""
    if isinstance(value, torch.device):
        return _CPU if value.type == "cuda" else value
    if isinstance(value, str):
        return "cpu" if value == "cuda" or (value.startswith("cuda:") and value[5:].isdigit()) else value
    if isinstance(value, dict):
        return {key: (_CPU if key == "device" and isinstance(item, int) else _on_cpu(item)) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_on_cpu(item) for item in value)
    return value


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in it, tuples and lists looked into."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_of(item)


def stack() -> List[Any]:
    """The active modes, outermost first."""
    return torch.overrides._get_current_function_mode_stack()
