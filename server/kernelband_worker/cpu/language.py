"""``triton.language`` as the interpreter needs it, for the time of a launch, and the bodies of kernels as it runs them.

``TRITON_INTERPRET=1`` would turn the library's own jit functions (``tl.sum``, ``tl.cdiv`` ...) into interpreted ones at import, and
such a process can't compile. Here ``tl`` is patched while a launch is interpreted and put back after it.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import inspect
from types import SimpleNamespace
from typing import Any, Callable, Dict, Iterator, List, Tuple, cast

import triton
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.jit import JITFunction

from kernelband_worker.cpu import libdevice, meanings, remembered
from kernelband_worker.cpu.builder import Builder, take_product

_MISSING = object()


class Language:
    """Patches and bodies of one process. ``builder`` is what patched functions call."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._bodies: Dict[int, Tuple[JITFunction[Any], Callable[..., Any]]] = {}
        self._libdevice = {module.__name__: module for module in libdevice.modules()}
        self._unpatched: List[Dict[str, Any]] = []  # what the patched places held when the patches were made
        self._patches: List[Tuple[Any, str, Any]] = []

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        """``tl`` interprets inside the block."""
        places: List[Any] = [tl, tl.core, tl.math, tl.tensor, tl.dtype, interpreter, *self._libdevice.values()]
        places += [getattr(tl.core, name) for name in ("tensor_descriptor_base", "condition") if hasattr(tl.core, name)]
        places += [tl.block_type, JITFunction]
        before = [dict(vars(place)) for place in places]
        compared = before[:-1]  # what a JIT function has of its own, its ``run`` in an observed block say, is in no patch
        try:
            if _same(compared, self._unpatched):
                for place, name, value in self._patches:
                    setattr(place, name, value)
            else:  # the first launch, or the program has replaced something there since
                self._patch()
                self._patches = [(place, *change) for place, held in zip(places, before) for change in _changes(place, held)]
                self._unpatched = compared
            yield
        finally:
            for place, held in zip(places, before):
                for name, _ in _changes(place, held):
                    if name in held:
                        setattr(place, name, held[name])
                    else:
                        delattr(place, name)

    def _patch(self) -> None:
        interpreter.interpreter_builder = self.builder
        if hasattr(interpreter, "TritonSemantic"):  # from 3.4 on
            interpreter.interpreter_semantic = interpreter.TritonSemantic(self.builder)
        interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
        self._patch_more()

    def _patch_more(self) -> None:
        # What is patched has no such attributes, or others, as far as a type checker can see.
        tensor, jit, places = cast("Any", tl.tensor), cast("Any", JITFunction), cast("List[Any]", [tl, tl.core])
        # numpy 2.4 takes no number from an array of one dimension, however small.
        tensor.__index__ = lambda self: int(self.handle.data.item())
        # A helper may ask a type that it gets for its value: the compiler passes it as a constexpr, which a type here is not.
        cast("Any", tl.dtype).value = property(lambda self: self)
        block = cast("Any", tl.block_type)
        block.__init__, tensor.__init__ = remembered.remembering(block.__init__, tensor.__init__)
        if hasattr(interpreter, "_get_np_dtype"):
            interpreter._get_np_dtype = remembered.by_name(interpreter._get_np_dtype)
        for place in places:
            place.reduce = self._reducing(place.reduce)
            place.associative_scan = self._reducing(place.associative_scan)
            place.range = meanings.steps
        language = self
        jit.__call__ = lambda function, *args, **kwargs: language.body(function)(*args, **kwargs)
        for module in self._libdevice.values():
            for name in list(libdevice.names(module)):
                setattr(module, name, libdevice.interpreted(name, self.builder.evaluated))

    def _reducing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Reductions and scans in float32 for bfloat16, counted once: n - 1 operations for n elements."""

        def reduce(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - Triton's name
            several = isinstance(input, (tuple, list, tl.tuple)) if hasattr(tl, "tuple") else isinstance(input, (tuple, list))
            values: List[Any] = list(input) if several else [input]
            narrow = [value.dtype == tl.bfloat16 for value in values]
            lifted = [value.to(tl.float32) if is_narrow else value for value, is_narrow in zip(values, narrow)]
            counter = None if self.builder.launch is None else self.builder.launch.counter
            counting = counter is not None and counter.counting
            if counter is not None:
                counter.counting = False
            product = take_product(values[0].handle)
            result = function(tuple(lifted) if several else lifted[0], *args, **kwargs)
            results = list(result) if isinstance(result, (tuple, list)) else [result]
            if counter is not None:
                counter.counting = counting
                if lifted[0].dtype.is_floating():
                    count = max(0, lifted[0].handle.data.size - results[0].handle.data.size)
                    counter.operations(count)
                    if not (product and _is_sum(args, kwargs)):  # a sum of products is one of fused additions
                        counter.instructions(count)
            back = [
                value.to(tl.bfloat16) if at < len(narrow) and narrow[at] and value.dtype == tl.float32 else value
                for at, value in enumerate(results)
            ]
            return tuple(back) if isinstance(result, (tuple, list)) else back[0]

        return reduce

    # ------------------------------------------------------------ bodies

    def body(self, kernel: JITFunction[Any]) -> Callable[..., Any]:
        """A jit function as the interpreter calls it: assignments make tensors, everything else is Python. Lines are the file's."""
        held = self._bodies.get(id(kernel))
        if held is None:
            held = self._bodies[id(kernel)] = (kernel, self._compile(kernel))
        return held[1]

    def _compile(self, kernel: JITFunction[Any]) -> Callable[..., Any]:
        function = kernel.fn
        tree = ast.parse(kernel.src)
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        # Defaults were computed where the function was defined; here their names may mean nothing.
        nothing = ast.copy_location(ast.Constant(value=None), definition)
        definition.args.defaults = [nothing for _ in definition.args.defaults]
        definition.args.kw_defaults = [None if default is None else nothing for default in definition.args.kw_defaults]
        tree = ast.fix_missing_locations(interpreter.ASTTransformer().visit(meanings.Operators().visit(tree)))
        lines, _ = inspect.getsourcelines(function)
        above = next(index for index, line in enumerate(lines) if line.strip().startswith("def "))
        ast.increment_lineno(tree, kernel.starting_line_number + above - 1)
        code = compile(tree, function.__code__.co_filename, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
        # A copy: the interpreter's names aren't the user's module's, and a kernel made in a function sees what that captured.
        scope = {**vars(interpreter), **function.__globals__, **inspect.getclosurevars(function).nonlocals}
        scope.update(interpreter_semantic=_Now(), interpreter_builder=self.builder, triton=triton)
        for name, meant in meanings.names().items():
            scope.setdefault(name, meant)
        self._bind_libdevice(scope)
        _bind_language(scope)
        exec(code, scope)
        made = scope[function.__name__]
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        scope[function.__name__] = function.__globals__.get(function.__name__, kernel)
        return made

    def _bind_libdevice(self, scope: Dict[str, Any]) -> None:
        """Names imported from libdevice: the module is patched for the launch, a name taken from it isn't."""
        for name, value in list(scope.items()):
            if callable(value) and getattr(value, "__module__", None) in self._libdevice:
                scope[name] = libdevice.interpreted(getattr(value, "__name__", name), self.builder.evaluated)


def _bind_language(scope: Dict[str, Any]) -> None:
    """Names imported from the language, ``from triton.language import load``: the module's function as a launch at hand patches it."""
    modules = {module.__name__: module for module in (tl.core, tl.math)}
    for name, value in list(scope.items()):
        module, own = modules.get(getattr(value, "__module__", "")), getattr(value, "__name__", name)
        if module is not None and getattr(module, own, value) is not value:
            scope[name] = _late(module, own)


def _late(module: Any, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        function = getattr(module, name)
        return function(*args, **kwargs)

    return call


def _changes(place: Any, held: Dict[str, Any]) -> List[Tuple[str, Any]]:
    """The attributes of a place that aren't what it held."""
    return [(name, value) for name, value in vars(place).items() if held.get(name, _MISSING) is not value]


def _same(now: List[Dict[str, Any]], before: List[Dict[str, Any]]) -> bool:
    """Whether those are the same names, with the same objects."""
    return len(now) == len(before) and all(a.keys() == b.keys() and all(b[name] is a[name] for name in a) for a, b in zip(now, before))


def _is_sum(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> bool:
    """Whether a reduction, by its arguments after the input, is a sum."""
    combine = kwargs.get("combine_fn", args[1] if len(args) > 1 else None)
    return any(word in getattr(combine, "__name__", "") for word in ("sum", "add"))


class _Now:
    """The interpreter's semantic of the launch at hand."""

    def __getattr__(self, name: str) -> Any:
        return getattr(interpreter.interpreter_semantic, name)
