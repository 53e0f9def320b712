"""Recorders: what runs in place of the host functions while the entry runs, and writes down each new kind of call.

Not bound to a thread: autograd runs backward functions on its own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import torch

from kernelband_worker.cases import arguments, effects, facts, modes, names
from kernelband_worker.cases.following import unfollowed
from kernelband_worker.cases.keeping import Keeper, Outputs
from kernelband_worker.cases.launched import Launches
from kernelband_worker.cases.recording import Limits, Open, Recording, Snapshot, StopCapture
from kernelband_worker.cases.replay import ORIGINAL
from kernelband_worker.cases.store import Store
from kernelband_worker.cases.tensors import NotReplayable, Storages
from kernelband_worker.cases.watch import Watched
from kernelband_worker.state import State
from kernelband_worker.wire import Function
from kernelband_worker.wrapped import jit_function


class Recorder:
    """Writes down calls. One instance for a capture; ``begin`` starts each run of the entry."""

    def __init__(self, state: State, store: Store, kernel: Function) -> None:
        self.state, self.store, self.kernel = state, store, kernel
        self.gpu = state.role == "gpu"
        self.active = False
        self.recordings: Dict[str, Recording] = {}
        self.watched = Watched()
        self.launched = Launches(state)
        self.notes: List[str] = []  # why a launch of the target could not be recorded
        self.reached: Dict[Tuple[str, str], Function] = {}
        self.passed_over = 0  # failed assertions about results of which only a sample was computed
        self.stopped: Optional[str] = None
        self.keeper = Keeper(store, gpu=self.gpu)
        self.sampled = False  # role cpu: some launch left programs out
        self._limits = Limits(0.0, 0)
        self._seen: Dict[str, str] = {}  # call key -> recording key
        self._only: Optional[Dict[str, Recording]] = None
        self._open: Dict[int, List[Open]] = {}
        self._ours: Set[int] = set()  # threads that do work of ours
        self._lock = threading.RLock()

    def begin(self, limits: Limits, only: Optional[Dict[str, Recording]] = None) -> None:
        """Start a run of the entry. ``only`` holds the recordings of the first run: others are not wanted any more."""
        self.recordings, self._seen, self._open = {}, {}, {}
        self._limits, self._only, self.stopped, self.active = limits, only, None, True

    def end(self) -> Dict[str, Recording]:
        """Stop recording; what this run gave, by case key."""
        self.active = False
        return self.recordings

    def has_recorded(self) -> bool:
        return bool(self.recordings)

    def pass_over(self) -> bool:
        """Whether a failed assertion says nothing: role cpu, and some launch left programs out."""
        self.passed_over += self.sampled
        return self.sampled

    def wrap(self, function: Function, original: Callable[..., Any]) -> Callable[..., Any]:
        """What the loader puts in the place of a host function."""

        @functools.wraps(original)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not self._listening or inspect.isgeneratorfunction(original) or inspect.iscoroutinefunction(original):
                return original(*args, **kwargs)
            return self._call(function, original, args, kwargs)

        setattr(recorded, ORIGINAL, original)
        return recorded

    # ------------------------------------------------------------------ host calls

    def _call(self, function: Function, original: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        self.check_stop()
        if not self._recordable():
            return original(*args, **kwargs)
        named = names.bind(original, args, kwargs)
        cells = _cells(original) if "<locals>" in function["qualname"] else {}
        if not names.tensors_of(named + list(cells.items())):
            return original(*args, **kwargs)  # a test body, say: its launches are recorded by themselves
        before = self._before(function, original, named, cells, args, kwargs)
        opened = Open()
        with self._opened(opened):
            returned = original(*args, **kwargs)
        if any(x["target"] for x in opened.launches) and not opened.inner:
            outputs: List[Tuple[str, torch.Tensor]] = []
            left: List[Tuple[str, torch.Tensor]] = []
            if before.pickled is not None:
                outputs = list(names.walk(returned, "return"))
                taken = {id(t) for _, t in outputs} | {id(t) for _, t in before.tensors}
                left = [(n, t) for n, t in names.tensors_of(names.bind(original, args, kwargs)) if id(t) not in taken]
            self._close(before, opened, (outputs, left), named, original)
        self.check_stop()
        return returned

    def _recordable(self) -> bool:
        """Whether a call can be looked at now; a note says why not."""
        if self.watched.compiling:
            self.note("the entry runs it through torch.compile, whose generated code can't be varied: call it without torch.compile")
            return False
        if self.gpu and torch.cuda.is_current_stream_capturing():
            self.note("it is launched while a CUDA graph is captured, and a graph's replay can't be recorded: call it without the graph")
            return False
        return True

    def note(self, sentence: str) -> None:
        """Keep a reason why launches of the kernel were not recorded."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    @contextlib.contextmanager
    def _opened(self, opened: Open) -> Iterator[None]:
        stack = self._open.setdefault(threading.get_ident(), [])
        stack.append(opened)
        try:
            yield
        finally:
            stack.pop()
            if stack:
                stack[-1].launches += opened.launches
                stack[-1].inner |= opened.inner

    def _close(self, before: Snapshot, opened: Open, outputs: Outputs, named: Any, original: Any) -> None:
        recording = self.finish(before, opened.launches, outputs, named, original)
        stack = self._open.get(threading.get_ident())
        if stack and recording is not None and recording.reason is None:
            stack[-1].inner = True

    # ------------------------------------------------------------------ bare launches

    def launching(self, kernel: Any, grid: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], run: Callable[[], Any]) -> Any:
        """``kernel[grid](*args, **kwargs)`` as written: recorded by itself when no recorded host function is running."""
        if not self._listening or self.inside or not self._is_target(kernel) or not self._recordable():
            return run()
        self.check_stop()
        inner = jit_function(kernel)
        names_ = list(inner.arg_names) if inner is not None else []
        named = list(zip(names_, args)) + list(kwargs.items())
        before = Snapshot(self.kernel, "launch", _outer(self.state, 3))
        self._try(before, {"kernel": kernel, "grid": grid, "args": args, "kwargs": kwargs}, named, None)
        opened = Open()
        with self._opened(opened):
            returned = run()
        if any(x["target"] for x in opened.launches):
            self._close(before, opened, ([], []), named, None)
        self.check_stop()
        return returned

    def unwanted(self, kernel: Function) -> bool:
        """Whether a launch of that kernel goes into no recording: another one, outside of every host function. Its tuner needn't time."""
        return not self.inside and not facts.same_function(kernel, self.kernel)

    def _is_target(self, kernel: Any) -> bool:
        inner = jit_function(kernel)
        place = self.state.opened.place(inner.fn.__code__) if inner is not None else None
        return place is not None and facts.same_function(place, self.kernel)

    # ------------------------------------------------------------------ both boundaries

    def _before(self, function: Any, original: Any, named: Any, cells: Dict[str, Any], *call: Any) -> Snapshot:
        snapshot = Snapshot(function, "host_call", _outer(self.state, 3))
        tree: Dict[str, Any] = {"args": call[0], "kwargs": call[1]}
        if "<locals>" in function["qualname"]:
            snapshot.closure = True
            tree.update(cells=cells, defaults=original.__defaults__, kwdefaults=original.__kwdefaults__)
        self._try(snapshot, tree, named + list(cells.items()), original)
        return snapshot

    def _try(self, snapshot: Snapshot, tree: Dict[str, Any], named: List[Tuple[str, Any]], original: Any) -> None:
        """Snapshot a call, unless one like it is known; a reason when it can't be."""
        snapshot.constants = constants = facts.constants_of(named)
        try:
            described = facts.tensor_facts(named, [t for _, t in names.tensors_of(named)], Storages())
            snapshot.key = facts.call_key(snapshot.function, described, constants)
            if snapshot.key not in self._seen:
                with self._aside():
                    self.snapshot(snapshot, tree, named, original)
        except NotReplayable as error:
            snapshot.reason = str(error)
            snapshot.key = snapshot.key or facts.call_key(snapshot.function, [], constants)

    def snapshot(self, snapshot: Snapshot, tree: Any, named: List[Tuple[str, Any]], original: Any) -> None:
        """Pickle the tree and copy its storages, before the call can change them.

        Raises:
            NotReplayable: the tree can't be recorded.
        """
        pickled, snapshot.storages, tensors = arguments.dump(tree)
        snapshot.facts = facts.tensor_facts(named, tensors, snapshot.storages)
        try:
            snapshot.copies = [view.clone() for view in snapshot.storages.views]
        except Exception as error:  # by the program, where it has replaced that operator of torch; or there is no memory left
            raise NotReplayable(f"its arguments can't be copied ({type(error).__name__}: {error})".splitlines()[0]) from error
        snapshot.tensors = [(f["name"], t) for f, t in zip(snapshot.facts, tensors)]
        snapshot.modes = modes.current_modes(self.gpu)
        snapshot.globals = effects.globals_print(original)
        snapshot.rng = modes.generator_states(self.gpu)
        snapshot.pickled = pickled

    def finish(
        self,
        before: Snapshot,
        launches: List[Dict[str, Any]],
        outputs: Outputs,
        named: List[Tuple[str, Any]],
        original: Any,
    ) -> Optional[Recording]:
        """Keep a call that launched the kernel, unless one of its kind is kept already; the recording that stands for it."""
        with self._lock:
            if before.key in self._seen:
                known = self.recordings[self._seen[before.key]]
                known.calls += 1
                return known
            key = facts.case_key(before.function, before.facts, launches) if before.pickled is not None else before.key
            self._seen[before.key] = key
            if key in self.recordings:
                self.recordings[key].calls += 1
                return self.recordings[key]
            if self._only is not None and key not in self._only:
                del self._seen[before.key]
                return None
            recording = Recording(
                key=key,
                boundary=before.boundary,
                function=before.function,
                order=len(self.recordings),
                facts=before.facts,
                constants=facts.constants_of(named),
                line=facts.line(before.facts, named),
                closure=before.closure,
                launches=launches,
                reason=before.reason,
                outer=before.outer,
            )
            try:
                if before.pickled is not None:
                    first = None if self._only is None else self._only[key]
                    with self._aside():
                        self.keeper.keep(recording, before, outputs, original, first=first, deadline=self._limits.deadline)
            finally:  # the stop may come while the call is made again
                self.recordings[key] = recording
            return recording

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """Around work of ours: a program's operators that copy and compare here launch kernels, which aren't the entry's."""
        self._ours.add(threading.get_ident())
        try:
            with unfollowed(self.state):
                yield
        finally:
            self._ours.discard(threading.get_ident())

    @property
    def _listening(self) -> bool:
        return self.active and threading.get_ident() not in self._ours

    # ------------------------------------------------------------------ launches

    def on_launch(self, event: Any) -> None:
        """After each launch that Triton makes while the entry runs."""
        if not self._listening:
            return
        described = facts.launch_facts(event, self.kernel)
        with self._lock:
            self.launched.note(event)
            self.sampled |= bool(getattr(event.traffic, "sampled", False))
            for function in event.frames:
                self.reached.setdefault((function["path"], function["qualname"]), function)
        stack = self._open.get(threading.get_ident())
        if stack:
            stack[-1].launches.append(described)

    @property
    def inside(self) -> bool:
        """Whether a recorded host function is running on this thread."""
        return bool(self._open.get(threading.get_ident()))

    def check_stop(self) -> None:
        """End the entry when enough was seen. On autograd's threads the next call on the main thread does it."""
        if self.stopped is None:
            now = time.monotonic()
            if now > self._limits.deadline or (now > self._limits.enough and self.recordings):
                self.stopped = "time"
            elif (self._only is None and len(self.recordings) >= self._limits.distinct) or (
                self._only is not None and len(self.recordings) >= len(self._only)
            ):
                self.stopped = "distinct"
        if self.stopped is not None and threading.current_thread() is threading.main_thread():
            raise StopCapture(self.stopped)


def _cells(function: Any) -> Dict[str, Any]:
    """What a nested function uses from around it, by name; cells not bound yet are left out."""
    found: Dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def _outer(state: State, depth: int) -> Optional[Function]:
    """The workspace function that called the recorded one."""
    frame: Any = sys._getframe(depth)
    while frame is not None:
        place = state.opened.place(frame.f_code)
        if place is not None:
            return place
        frame = frame.f_back
    return None
