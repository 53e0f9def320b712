"""Which configuration an autotuned kernel runs with, and when its tuner may time (JUDGING, section 3).

The original was tuned fully while the user's program ran under capture; kernels outside of what is recorded ran with a guess, for their
tuners could take all of its time. What the original's tuner chose for a case is recorded, and pinned in every process: the baseline is its
best configuration. In the final it is tuned once more, among that choice and what the finalists chose of its own list: a tuner's choices
scatter, and luck in one of them is no gain.

A variant is tuned once in a run, on the timing cases, before it is checked or timed on any (``settle``): its new configurations against the
one that the original's tuner chose there. With nothing new there is nothing to time: a kernel that was edited under an unchanged list is
screened with the original's choice, which can only hide a gain. In the final (``SessionParams.tuning``) all its configurations compete, as
they will in the user's hands, again once: what was chosen is kept in the store of the run, and pinned in the other processes.

Other cases are checked with the choice for the nearest timing case, of the original with the recorded one. Where they are timed, in the
final, the user's tuner would choose anew; all of a list takes it up to a minute at each size. So each version times its choice against what
the others chose, as far as its own list has that, once in a run: what loses at another size only because it was chosen for this one loses
nothing. Where nothing is known the first configuration that fits is taken. Without a GPU nothing can be timed, nor while a variant is
compiled: it is looked at with the last new configuration, or, where its list is the original's, with the recorded choice.
"""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple

from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

from kernelband_worker.cases.names import constant

#: The configurations of each launch of a kernel in a case, in order, by ``module:qualname`` of the kernel.
Choices = Mapping[str, Sequence[Optional[Mapping[str, Any]]]]
#: Which configurations are timed: those that the original's list doesn't have against the known choice, others' choices against it, or all.
Race = Literal["new", "others", "all"]

#: Seconds that a variant's tuning may take on all timing cases together, and half of it again for compiling ahead: what any deadline has to
#: spare. What comes later can't win.
PATIENCE_S = 10.0


def plain(config: Any) -> Dict[str, Any]:
    """A configuration as it is recorded."""
    return {**{name: constant(value) for name, value in config.all_kwargs().items()}, **hooked(config)}


def hooked(config: Any) -> Dict[str, Any]:
    """Whether a hook is called before each launch with it, which may change the launch."""
    return {"pre_hook": True} if config.pre_hook is not None else {}


class Chooser:
    """Chooses for the autotuned launches of one observed block.

    Args:
        choices: what is known.
        originals: the configurations of the original's kernel of that name; None where it isn't autotuned.
        times: whether an autotuner can time here.
        race: what may be timed, None for nothing.
        others: what other versions of the program chose.
        seconds: for timing, in the whole block.
        least: where the known choice doesn't fit the device, or none is known, the smallest comes next: results are wanted, not speed.
    """

    def __init__(
        self,
        choices: Choices,
        originals: Callable[[str], Optional[List[Dict[str, Any]]]],
        *,
        times: bool,
        race: Optional[Race] = None,
        others: Sequence[Choices] = (),
        seconds: float = PATIENCE_S,
        least: bool = False,
    ) -> None:
        self._choices, self._originals, self._times, self._race, self._others = choices, originals, times, race, others
        self._least = least
        self._launches: Dict[str, int] = {}
        self._seconds = seconds
        self._started: Optional[float] = None
        self.pinned: Optional[Any] = None  # while a tuner runs with a choice
        self.racing: List[Any] = []  # while it times these

    def run(self, launch: Callable[..., Any], tuner: Autotuner, name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """What ``launch(tuner, *args, **kwargs)`` gives with the configuration of choice; ``name`` is the kernel's.

        Raises:
            OutOfResources: none fits the device.
        """
        tuner.nargs = dict(zip(tuner.arg_names, args))
        number = self._launches[name] = self._launches.get(name, -1) + 1
        known = _listed(tuner, self._choices, name, number)
        field = self._field(tuner, name, number, known, kwargs)
        if self._race and self._times and len(field) > 1:
            return self._raced(launch, tuner, field, args, kwargs)
        tried: List[Any] = []
        while True:
            config = field[len(tried)]
            try:
                return self._pinned(launch, tuner, config, args, kwargs, keep=self._race is not None or config is known)
            except OutOfResources:
                tried.append(config)
                rest = tuner.prune_configs(kwargs)
                field = [*tried, *(c for c in [*field, *(sorted(rest, key=_elements) if self._least else rest)] if c not in tried)]
                if len(field) == len(tried):
                    raise

    def too_late(self) -> bool:
        """Whether the time for timing is over; asked before each configuration, and not for the first."""
        if self._started is None:
            self._started = time.monotonic()
            return False
        return self.left_s() < 0

    def left_s(self) -> float:
        """Seconds that are left for timing."""
        return self._seconds - (0.0 if self._started is None else time.monotonic() - self._started)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """What goes on in the block is no timing."""
        begin = time.monotonic()
        try:
            yield
        finally:
            if self._started is not None:
                self._started += time.monotonic() - begin

    def _field(self, tuner: Autotuner, name: str, number: int, known: Optional[Any], kwargs: Dict[str, Any]) -> List[Any]:
        """The configurations that may run, the most likely first: the known choice, new ones, and where there is neither, all that fit."""
        first = [known] if known is not None else []
        if self._least and not first:
            return sorted(tuner.prune_configs(kwargs), key=_elements)
        if first and self._race is None:
            return [*self._untimed(tuner, name, kwargs), *first]
        if first and self._race == "others":
            chosen = [id(_listed(tuner, choices, name, number)) for choices in self._others]
            return [*first, *(c for c in tuner.configs if id(c) in chosen and c is not known)]
        listed = self._originals(name) or []
        new = [c for c in tuner.configs if plain(c) not in listed and c not in first]
        if first and not new and self._race != "all":
            return first
        fitting: List[Any] = tuner.prune_configs(kwargs)
        new = [c for c in new if c in fitting]
        if self._race == "all" or not (first or new):
            return [*first, *new, *(c for c in fitting if c not in new and c not in first)]
        return [*first, *new]

    def _untimed(self, tuner: Autotuner, name: str, kwargs: Dict[str, Any]) -> List[Any]:
        """New configurations, the last first, where nothing can be timed: what was added to a list is what there is to look at."""
        listed = None if self._times else self._originals(name)
        new = [c for c in tuner.configs if plain(c) not in listed] if listed is not None else []
        fitting: List[Any] = tuner.prune_configs(kwargs) if new else []
        return [c for c in reversed(new) if c in fitting]

    def _pinned(
        self, launch: Callable[..., Any], tuner: Autotuner, config: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], *, keep: bool
    ) -> Any:
        """Without timing anything. What is kept stays in the tuner's memory, so that later calls find it there."""
        held = _memory(tuner)
        chosen = tuner.cache = _Chosen(config, held if self._times else {}, keep=keep)
        self.pinned = config
        try:
            return launch(tuner, *args, **kwargs)
        except OutOfResources:
            chosen.forget()
            raise
        finally:
            self.pinned, tuner.cache = None, held

    def _raced(self, launch: Callable[..., Any], tuner: Autotuner, field: List[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """As Triton does it, among fewer."""
        setattr(tuner, "prune_configs", lambda _: field)  # noqa: B010 - on this one object, for this one call
        self.racing = field
        try:
            return launch(tuner, *args, **kwargs)
        finally:
            self.racing = []
            delattr(tuner, "prune_configs")


def _memory(tuner: Any) -> Dict[Any, Any]:
    """What the tuner remembers. A project's own memory, which may be a database on the disk, is read from then on and no longer written."""
    if not isinstance(tuner.cache, dict):
        tuner.cache = _Behind(tuner.cache)
    return tuner.cache


class _Behind(Dict[Any, Any]):
    """A memory with another behind it."""

    def __init__(self, behind: Any) -> None:
        super().__init__()
        self._behind = behind

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._behind

    def __missing__(self, key: Any) -> Any:
        return self._behind[key]

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


class _Chosen(Dict[Any, Any]):
    """An autotuner's memory with an answer for every key: nothing is timed, no hook of a trial run called. What ``held`` knows stands."""

    def __init__(self, config: Any, held: Dict[Any, Any], *, keep: bool) -> None:
        super().__init__()
        self._config, self._held, self._keep = config, held, keep
        self._added: List[Any] = []

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        if self._keep and key not in self._held:
            self._held[key] = self._config
            self._added.append(key)
        return self._held.get(key, self._config)

    def forget(self) -> None:
        """The configuration doesn't fit the device."""
        for key in self._added:
            del self._held[key]


def _elements(config: Any) -> int:
    """Grows with what a program of that configuration holds at a time."""
    blocks = [n for n in config.kwargs.values() if isinstance(n, int) and n > 1]
    return math.prod(blocks) * max(int(config.num_stages or 1), 1)


def _listed(tuner: Autotuner, choices: Choices, name: str, number: int) -> Optional[Any]:
    """What was chosen for that launch of the kernel, if the tuner's list has it."""
    of_kernel = choices.get(name) or [None]
    wanted = of_kernel[min(number, len(of_kernel) - 1)]
    return next((c for c in tuner.configs if wanted and all(plain(c).get(key) == value for key, value in wanted.items())), None)


def recorded(launches: Sequence[Mapping[str, Any]]) -> Dict[str, List[Optional[Dict[str, Any]]]]:
    """What the tuner chose for each launch (wire.LaunchFacts) of a kernel that has one."""
    found: Dict[str, List[Optional[Dict[str, Any]]]] = {}
    for launch in launches:
        if launch["config"]:
            found.setdefault(f"{launch['kernel']['module']}:{launch['kernel']['qualname']}", []).append(launch["config"])
    return found


def distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far apart the sizes of two cases (wire.Case) are: the sum over tensors of both of the logarithm of their elements' ratio."""
    sizes = [{t["name"]: max(1, math.prod(t["shape"])) for t in case["tensors"]} for case in (one, other)]
    return math.fsum(abs(math.log(sizes[0][name] / sizes[1][name])) for name in sizes[0].keys() & sizes[1].keys())
