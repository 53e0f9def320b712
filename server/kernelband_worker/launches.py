"""Sees every Triton launch with the arguments that the device gets: after autotuner and heuristics, whoever calls, however deep.

Seen are ``kernel[grid](...)``, ``kernel.run(...)`` and ``kernel.warmup(...)`` followed by ``CompiledKernel[grid](...)``. The trial runs of
autotuners, Triton's and a project's own, are not launches of the program and are passed over. With ``suppress`` nothing is compiled or run;
with no GPU the interpreter runs it (``cpu``).
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
from kernelband_worker.side_by_side import compile_all
from kernelband_worker.sources import real_path
from kernelband_worker.specialised import ACTIVE, CONFIG, Specialised
from kernelband_worker.stand_ins import StandIns, alike, passing, passing_over
from kernelband_worker.state import State
from kernelband_worker.tuning import PATIENCE_S, Choices, Chooser, Race, hooked, plain
from kernelband_worker.wire import Function
from kernelband_worker.wrapped import jit_function, layers, timed_by_tuner

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
#: Seconds after which no further configuration is compiled before a tuner of the program's own times.
AHEAD_S = 20.0


@dataclass
class Running:
    """An autotuner that is choosing for a launch."""

    tuner: Autotuner
    configs: Sequence[Any] = ()  # what it pruned its list to, for this launch
    compiled: bool = False  # all of them, ahead of the first that it times


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
    least: bool = False,
    guessed: Callable[[Function], bool] = lambda _: False,
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
        least: as of ``Chooser``: where what ``configs`` says doesn't fit, the smallest comes next.
        guessed: asked before tuners would time as the program has them do: whether this kernel's launch may as well run with its first
            configuration that fits.
    """
    machine: Optional[Machine] = None
    if state.role == "cpu":
        from kernelband_worker.cpu.machine import machine_of

        machine = machine_of(state)
    chooser = None
    if configs is not None:
        times = not suppress and machine is None
        chooser = Chooser(configs, configurations, times=times, race=tune, others=others, seconds=patience_s, least=least)
    watch = Watch(state, handler, suppress=suppress, programs=programs, chooser=chooser, machine=machine, guessed=guessed)
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
        guessed: Callable[[Function], bool] = lambda _: False,
    ) -> None:
        self._state = state
        self._handler = handler
        self._suppress = suppress
        self._programs = programs
        self._chooser = chooser
        self._machine = machine
        self._timing = not suppress and machine is None  # whether an autotuner can time
        self._guessing = Chooser({}, configurations, times=self._timing)
        self._guessed = guessed
        if chooser is None and not self._timing:
            self._chooser = self._guessing
        self._here = threading.local()
        self._run: Callable[..., Any]  # Triton's own entry points, once installed
        self._getitem: Callable[..., Any]

    @property
    def launching(self) -> bool:
        """Whether launches reach a device."""
        return self._timing

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Stand between the program and Triton's launch paths."""
        watch, stand_ins = self, StandIns(self._tuned, self._trial, self._pruned, self._benchmarked)

        def run(kernel: JITFunction[Any], *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            return watch._launch(kernel, args, kwargs, grid, warmup)

        def getitem(compiled: CompiledKernel, grid: Any) -> Any:
            return watch._compiled(compiled, grid)

        with stand_ins:
            self._run = stand_ins.swap(JITFunction, "run", lambda _: run)
            self._getitem = stand_ins.swap(CompiledKernel, "__getitem__", lambda _: getitem)
            ACTIVE.append(self)
            try:
                yield
            finally:
                ACTIVE.remove(self)

    # ------------------------------------------------------------ the paths

    def _launch(self, kernel: JITFunction[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], grid: Any, warmup: bool) -> Any:
        if passing():
            return self._run(kernel, *args, grid=grid, warmup=warmup, **kwargs)
        if warmup:
            if self._timing:
                return self._run(kernel, *args, grid=grid, warmup=True, **kwargs)
            return Specialised(kernel, args, kwargs)
        arguments = triton_versions.bind(kernel, args, kwargs)
        sizes = triton_versions.canonical_grid(grid, arguments)
        result: Any = None
        if self._timing:
            result = self._run(kernel, *args, grid=sizes, warmup=False, **kwargs)
        elif self._machine is None or self._suppress:
            for hook in kernel.pre_run_hooks:
                hook(*args, **kwargs)
        config = self._config(kernel)
        self._finish(kernel, args, kwargs, arguments, sizes, config=config)
        # A project's own entry keeps what a launch gives back, and launches that from then on.
        kept = result if self._timing else Specialised(kernel, args, kwargs)
        if config is not None and kept is not None:
            setattr(kept, CONFIG, config)
        return kept

    def _finish(
        self,
        kernel: JITFunction[Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        arguments: Dict[str, Any],
        grid: Tuple[int, int, int],
        *,
        config: Optional[Dict[str, Any]],
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
        function = self._function(kernel)
        self._handler(LaunchEvent(kernel, function, arguments, grid, learnt.options, specialization, config, frames, traffic))

    def _compiled(self, compiled: CompiledKernel, grid: Any) -> Callable[..., None]:
        runner = self._getitem(compiled, grid)

        def launch(*args: Any, **kwargs: Any) -> None:
            if self._timing or passing():
                runner(*args, **kwargs)
            if passing():
                return
            launched = triton_versions.bind_compiled(compiled, args)
            if launched is not None:
                kernel, arguments, options = launched
                sizes = triton_versions.canonical_grid(grid, arguments)
                self._finish(kernel, (), {**arguments, **options}, arguments, sizes, config=getattr(compiled, CONFIG, None))

        return launch

    def launch_specialised(self, kept: Specialised, arguments: Dict[str, Any], options: Dict[str, Any], grid: Any) -> None:
        """A launch of what an earlier one, or ``warmup``, gave back."""
        sizes = triton_versions.canonical_grid(grid, arguments)
        self._finish(kept.kb_kernel, (), {**options, **arguments}, arguments, sizes, config=vars(kept).get(CONFIG))

    # ------------------------------------------------------------ autotuning

    def _tuned(self, run: Callable[..., Any], tuner: Autotuner, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        tuners: List[Running] = self._here.__dict__.setdefault("tuners", [])
        if tuners and tuners[-1].tuner is tuner:  # a class's own run goes on to Triton's
            return run(tuner, *args, **kwargs)
        tuners.append(Running(tuner))
        try:
            kernel = jit_function(tuner)
            if kernel is None or len(tuner.configs) < 2:
                return run(tuner, *args, **kwargs)
            function = self._function(kernel)
            chooser = self._guessing if self._chooser is None and self._guessed(function) else self._chooser
            if chooser is None:
                return run(tuner, *args, **kwargs)
            return chooser.run(run, tuner, f"{function['module']}:{function['qualname']}", args, kwargs)
        finally:
            tuners.pop()

    def _trial(self, bench: Callable[..., Any], tuner: Autotuner, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """One configuration that a tuner times."""
        if not passing():
            pinned = (self._chooser or self._guessing).pinned
            if pinned is not None or not self._timing:  # a tuner with a memory of its own, which didn't take the choice from there
                return [float(kwargs.get("config") is not pinned)] * 3
            if self._chooser is not None and self._chooser.too_late():
                return [float("inf")] * 3  # as Triton answers for one that doesn't fit
        with passing_over() as outermost:
            if outermost:
                self._compile_ahead(tuner, args, kwargs)
            return bench(tuner, *args, **kwargs)

    def _pruned(self, prune: Callable[..., Any], tuner: Autotuner, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        found = prune(tuner, *args, **kwargs)
        running = self._running(tuner)
        if running is not None:
            running.configs = found
        return found

    def _compile_ahead(self, tuner: Autotuner, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Before a tuner times its first configuration: all of them, side by side."""
        running = self._running(tuner)
        if running is None or running.compiled:
            return
        running.compiled = True
        launch = {name: value for name, value in kwargs.items() if name != "config"}
        if self._chooser is None:
            compile_all(tuner, running.configs, args, launch, AHEAD_S)
            return
        with self._chooser.paused():
            compile_all(tuner, self._chooser.racing or running.configs, args, launch, self._chooser.left_s() / 2)

    def _running(self, tuner: Autotuner) -> Optional[Running]:
        return next((r for r in reversed(getattr(self._here, "tuners", [])) if r.tuner is tuner), None)

    def _benchmarked(self, benchmark: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """``do_bench``, with which a project's own tuner may time: then as a tuner's own trial."""
        if passing() or not timed_by_tuner(3):
            return benchmark(*args, **kwargs)
        if not self._timing:
            return alike(kwargs)
        with passing_over():
            return benchmark(*args, **kwargs)

    def _config(self, kernel: JITFunction[Any]) -> Optional[Dict[str, Any]]:
        for running in reversed(getattr(self._here, "tuners", [])):
            chosen = getattr(running.tuner, "best_config", None)
            if chosen is not None and running.tuner.base_fn is kernel.fn:
                return {**chosen.all_kwargs(), **hooked(chosen)}
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
    tuner = next((layer for layer in layers(found) if isinstance(layer, Autotuner)), None)
    return None if tuner is None else [plain(config) for config in tuner.configs]
