"""Sees every Triton launch with the arguments that the device gets: after autotuner and heuristics, whoever calls, however deep.

Seen are ``kernel[grid](...)``, ``kernel.run(...)`` and ``kernel.warmup(...)`` followed by ``CompiledKernel[grid](...)``. An autotuner's
trial runs are not launches of the program and are passed over. With ``suppress`` nothing is compiled or run; with no GPU the
interpreter runs it (``cpu``).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from triton.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kernelband_worker import triton_versions
from kernelband_worker.sources import real_path
from kernelband_worker.state import State
from kernelband_worker.tuning import PATIENCE_S, Choices, Chooser, Race, plain
from kernelband_worker.wire import Function

if TYPE_CHECKING:
    from kernelband_worker.cpu.machine import Machine
    from kernelband_worker.cpu.traffic import Traffic


@dataclass
class LaunchEvent:
    """One launch, as the device got it."""

    kernel: JITFunction[Any]
    function: Function
    arguments: Dict[str, Any] = field(repr=False)  # bound by name
    grid: Tuple[int, int, int]
    options: Dict[str, Any]  # num_warps, num_stages, num_ctas and the backend's others
    specialization: Dict[str, Any]  # signature, constants, attributes, options, specialization_data, key
    config: Optional[Dict[str, Any]]  # the autotuner's choice
    frames: List[Function]  # workspace functions on the stack, innermost first
    traffic: Optional[Traffic]  # role cpu


Handler = Callable[[LaunchEvent], None]

#: Where launches enter Triton, in the order in which ``Watch`` names its own.
_ENTRY_POINTS: Tuple[Tuple[type, str], ...] = (
    (JITFunction, "run"),
    (Autotuner, "run"),
    (Autotuner, "_bench"),
    (CompiledKernel, "__getitem__"),
)


@contextlib.contextmanager
def observe(
    state: State,
    handler: Handler,
    *,
    suppress: bool = False,
    programs: int = 64,
    configs: Optional[Choices] = None,
    tune: Optional[Race] = None,
    others: Sequence[Choices] = (),
    patience_s: float = PATIENCE_S,
) -> Iterator[None]:
    """Call ``handler(event)`` after each launch inside the block.

    Args:
        state: of the executor; its role says where launches run.
        handler: called on the thread that launched, while the launching functions are still on its stack.
        suppress: neither compile nor run; outputs stay as they are.
        programs: role cpu: at most so many programs of a launch are interpreted, 0 for all.
        configs: what an autotuner's launches run with, where that is known (see ``tuning``); nothing is timed then. None: tuners time as
            the program has them do, and where they can't (suppressed, without a GPU) the first configuration is taken.
        tune: "new": new configurations are timed against the known one; "others": those of ``others``; "all": all of them.
        others: what other versions of the program chose.
        patience_s: seconds that may take.
    """
    machine: Optional[Machine] = None
    if state.role == "cpu":
        from kernelband_worker.cpu.machine import machine_of

        machine = machine_of(state)
    chooser = None
    if configs is not None:
        times = not suppress and machine is None
        chooser = Chooser(configs, configurations, times=times, race=tune, others=others, seconds=patience_s)
    watch = Watch(state, handler, suppress=suppress, programs=programs, chooser=chooser, machine=machine)
    with watch.installed():
        yield


class Watch:
    """The patched entry points of Triton while a block is observed."""

    def __init__(
        self,
        state: State,
        handler: Optional[Handler],
        *,
        suppress: bool,
        programs: int,
        machine: Optional[Machine],
        chooser: Optional[Chooser] = None,
    ) -> None:
        self._state = state
        self._handler = handler
        self._suppress = suppress
        self._programs = programs
        self._chooser = chooser
        self._machine = machine
        self._timing = not suppress and machine is None  # whether an autotuner can time
        if chooser is None and not self._timing:
            self._chooser = Chooser({}, configurations, times=False)
        self._here = threading.local()  # a backward pass launches from a thread of its own
        self._run: Callable[..., Any]  # Triton's own entry points, once installed
        self._autotuner_run: Callable[..., Any]
        self._bench: Callable[..., Any]
        self._getitem: Callable[..., Any]

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Stand between the program and Triton's launch paths."""
        before = [getattr(owner, name) for owner, name in _ENTRY_POINTS]
        # Triton's own, below a watch that stands there already.
        own: List[Callable[..., Any]] = [getattr(function, "kernelband_original", function) for function in before]
        self._run, self._autotuner_run, self._bench, self._getitem = own
        watch = self

        def run(kernel: JITFunction[Any], *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            return watch._launch(kernel, args, kwargs, grid, warmup)

        def autotuner_run(tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
            return watch._tuned(tuner, args, kwargs)

        def bench(tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
            if watch._chooser is not None and watch._chooser.too_late():
                return [float("inf")] * 3  # as Triton answers for one that doesn't fit
            with watch._passing_over():
                return watch._bench(tuner, *args, **kwargs)

        def getitem(compiled: CompiledKernel, grid: Any) -> Any:
            return watch._compiled(compiled, grid)

        mine: List[Any] = [run, autotuner_run, bench, getitem]
        for function, original in zip(mine, own):
            function.kernelband_original = original
        try:
            for (owner, name), function in zip(_ENTRY_POINTS, mine):
                setattr(owner, name, function)
            yield
        finally:
            for (owner, name), function in zip(_ENTRY_POINTS, before):
                setattr(owner, name, function)

    # ------------------------------------------------------------ the paths

    def _launch(self, kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], grid: Any, warmup: bool) -> Any:
        if getattr(self._here, "passing", 0):
            return self._run(kernel, *args, grid=grid, warmup=warmup, **kwargs)
        if warmup:
            if self._timing:
                return self._run(kernel, *args, grid=grid, warmup=True, **kwargs)
            return Specialised(self, kernel, args, kwargs)
        arguments = triton_versions.bind(kernel, args, kwargs)
        sizes = triton_versions.canonical_grid(grid, arguments)
        result = None
        if self._timing:
            result = self._run(kernel, *args, grid=sizes, warmup=False, **kwargs)
        elif self._machine is None or self._suppress:
            for hook in kernel.pre_run_hooks:
                hook(*args, **kwargs)
        self._finish(kernel, args, kwargs, arguments, sizes)
        return result

    def _finish(
        self, kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], arguments: Dict[str, Any], grid: Tuple[int, int, int]
    ) -> None:
        """Interpret where that is wanted, learn the specialisation, tell the handler."""
        frames = self._frames()
        traffic = None
        if self._machine is not None and not self._suppress:
            traffic = self._machine.launch(kernel, arguments, grid, self._programs)
        if self._handler is None:
            return
        learnt = triton_versions.learn(kernel, args, kwargs, self._run)
        specialization = {
            "signature": learnt.signature,
            "constants": learnt.constants,
            "attributes": learnt.attributes,
            "options": learnt.options,
            "specialization_data": learnt.data,
            "key": learnt.key(kernel),
        }
        function, config = self._function(kernel), self._config(kernel)
        self._handler(LaunchEvent(kernel, function, arguments, grid, learnt.options, specialization, config, frames, traffic))

    def _compiled(self, compiled: CompiledKernel, grid: Any) -> Callable[..., None]:
        runner = self._getitem(compiled, grid)

        def launch(*args: Any, **kwargs: Any) -> None:
            runner(*args, **kwargs)
            launched = triton_versions.bind_compiled(compiled, args)
            if launched is not None:
                kernel, arguments, options = launched
                sizes = triton_versions.canonical_grid(grid, arguments)
                self._finish(kernel, (), {**arguments, **options}, arguments, sizes)

        return launch

    def launch_specialised(self, kernel: JITFunction[Any], arguments: Dict[str, Any], options: Dict[str, Any], grid: Any) -> None:
        """A launch of what ``warmup`` gave back."""
        self._finish(kernel, (), {**options, **arguments}, arguments, triton_versions.canonical_grid(grid, arguments))

    def compile(self, kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """What ``warmup`` really gives: compiled for the target, when the program asks for its registers or shared memory."""
        return self._run(kernel, *args, grid=(1, 1, 1), warmup=True, **kwargs)

    # ------------------------------------------------------------ autotuning

    @contextlib.contextmanager
    def _passing_over(self) -> Iterator[None]:
        self._here.passing = getattr(self._here, "passing", 0) + 1
        try:
            yield
        finally:
            self._here.passing -= 1

    def _tuned(self, tuner: Autotuner, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        tuners = self._here.__dict__.setdefault("tuners", [])
        tuners.append(tuner)
        try:
            if self._chooser is None or len(tuner.configs) < 2:
                return self._autotuner_run(tuner, *args, **kwargs)
            kernel = tuner.fn
            while not isinstance(kernel, JITFunction):
                kernel = kernel.fn
            function = self._function(kernel)
            return self._chooser.run(self._autotuner_run, tuner, f"{function['module']}:{function['qualname']}", args, kwargs)
        finally:
            tuners.pop()

    def _config(self, kernel: JITFunction[Any]) -> Optional[Dict[str, Any]]:
        for tuner in reversed(getattr(self._here, "tuners", [])):
            if tuner.base_fn is kernel.fn:
                return dict(tuner.best_config.all_kwargs())
        return None

    # ------------------------------------------------------------ places

    def _function(self, kernel: JITFunction[Any]) -> Function:
        code = kernel.fn.__code__
        place = self._state.loader.place(code) if self._state.loader is not None else None
        module = place["module"] if place is not None else kernel.fn.__module__
        return {"module": module, "path": real_path(code.co_filename), "qualname": kernel.fn.__qualname__}

    def _frames(self) -> List[Function]:
        found: List[Function] = []
        frame = sys._getframe(1)
        while frame is not None:
            # Module bodies, lambdas and comprehensions are no functions that a case could start at.
            if self._state.loader is not None and not frame.f_code.co_name.startswith("<"):
                place = self._state.loader.place(frame.f_code)
                if place is not None:
                    found.append(place)
            frame = frame.f_back
        return found


def configurations(name: str) -> Optional[List[Dict[str, Any]]]:
    """Those of the original's kernel ``module:qualname``; None where it isn't autotuned, or not there by its name."""
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)  # siblings have other names, and an original is loaded before them
    for part in qualname.split("."):
        found = getattr(found, part, None)
    while found is not None and not isinstance(found, Autotuner):
        found = getattr(found, "fn", None)
    return None if found is None else [plain(config) for config in found.configs]


class Specialised:
    """What ``warmup`` gives back where nothing is launched on a device: a launch is an event, and it is compiled only when asked for
    what the compiler knows (``n_regs``, ``metadata.shared`` ..., from which the fused softmax tutorial makes its grid).
    """

    def __init__(self, watch: Watch, kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self._kb_watch = watch
        self._kb_kernel = kernel
        self._kb_made = (args, kwargs)
        self._kb_real: Any = None

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(*args: Any, stream: Any = None) -> None:  # noqa: ARG001 - CompiledKernel's signature
            kernel = self._kb_kernel
            warmed_args, warmed_kwargs = self._kb_made
            warmed = triton_versions.bind(kernel, warmed_args, warmed_kwargs)
            names = list(kernel.arg_names)
            constant = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
            passed = names if len(args) >= len(names) else [name for name in names if name not in constant]
            arguments = {**warmed, **dict(zip(passed, args))}
            options = {name: value for name, value in warmed_kwargs.items() if name not in names}
            self._kb_watch.launch_specialised(kernel, arguments, options, grid)

        return launch

    def __getattr__(self, name: str) -> Any:
        if self._kb_real is None:
            self._kb_real = self._kb_watch.compile(self._kb_kernel, *self._kb_made)
        if name in ("n_regs", "n_spills", "n_max_threads", "function", "module"):
            self._kb_real._init_handles()  # as a program on a GPU has done before it reads them
        return getattr(self._kb_real, name)
