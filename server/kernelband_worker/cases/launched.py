"""Which kernels an entry launched, and where their text is: for saying why the one that is wanted isn't among them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Optional, Tuple

from kernelband_worker.sources import real_path
from kernelband_worker.state import State
from kernelband_worker.wire import Function
from kernelband_worker.wrapped import jit_function

MOST_NAMED = 6


@dataclass
class Launched:
    """A kernel that was launched."""

    function: Function
    line: int
    generated: bool  # in no file of the workspace or of a package: the program wrote its text
    caller: Optional[Function]  # of the workspace, nearest to the launch
    calls: FrozenSet[Tuple[str, str]] = frozenset()  # (path, qualname) of jit functions, where it is generated
    times: int = 0

    @property
    def name(self) -> str:
        """The last part of its qualname."""
        return self.function["qualname"].rpartition(".")[2]


class Launches:
    """What was launched while an entry ran. Told by the thread that launched, one at a time."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._found: Dict[Tuple[str, str], Launched] = {}

    def note(self, event: Any) -> None:
        """A launch."""
        function: Function = event.function
        key = (function["path"], function["qualname"])
        if key not in self._found:
            code = event.kernel.fn.__code__
            generated = self._state.opened.place(code) is None and not _installed(function["path"])
            caller = event.frames[0] if event.frames else None
            calls = _called(event.kernel.fn) if generated else frozenset[Tuple[str, str]]()
            self._found[key] = Launched(function, code.co_firstlineno, generated, caller, calls)
        self._found[key].times += 1

    def __contains__(self, kernel: Function) -> bool:
        return any(
            one.function["qualname"] == kernel["qualname"] and kernel["module"] == one.function["module"] for one in self._found.values()
        )

    def around(self, kernel: Function) -> Optional[str]:
        """Where the wanted kernel is only a part of generated text that was launched: that, as the end of a sentence."""
        place = (kernel["path"], kernel["qualname"])
        found = next((one for one in self._found.values() if place in one.calls), None)
        if found is None:
            return None
        return (
            f"it launched {found.name} ({found.times} times), which calls it. {_writes(found)}, and only kernels that stand in a source "
            "file can be optimized."
        )

    def instead(self, kernel: Function) -> str:
        """What was launched in the place of the wanted kernel, with what to do about it: the end of a sentence, and one more."""
        found = sorted(self._found.values(), key=lambda one: (one.name, one.function["path"]))
        name = kernel["qualname"].rpartition(".")[2]
        for one in found:
            if one.name == name and not one.generated:
                return (
                    f"it launched another {name}, that of {one.function['path']} (line {one.line}), and not that of {kernel['path']}. "
                    f"Name an entry that launches this one, or optimize {one.function['path']}::{one.function['qualname']}."
                )
        if not found:
            return "it launched no Triton kernel at all. Name an entry that does."
        launched = ", ".join(f"{one.name} ({one.times} times)" for one in found[:MOST_NAMED])
        launched += f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        generated = next((one for one in found if one.generated), None)
        if generated is None:
            return f"it launched {launched}. Name an entry that does."
        return (
            f"it launched {launched}. {_writes(generated)}, and only kernels in source files can be optimized. "
            "Name an entry that launches one of these."
        )


def _writes(one: Launched) -> str:
    caller = one.caller
    by = f" (launched in {caller['qualname']} of {caller['path']})" if caller is not None else ""
    return f"The program generates {one.name} while it runs, in {one.function['path']}{by}"


def _called(function: Any) -> FrozenSet[Tuple[str, str]]:
    """The jit functions that a kernel reads by name."""
    found = (jit_function(function.__globals__.get(name)) for name in function.__code__.co_names)
    inner = [kernel.fn for kernel in found if kernel is not None]
    return frozenset((real_path(fn.__code__.co_filename), fn.__qualname__) for fn in inner)


def _installed(path: str) -> bool:
    """Whether Python finds the file by its own search path: it is part of a package, and was not written by the program."""
    if not os.path.isabs(path):  # "<string>": executed, and in no file at all
        return False
    return any(path.startswith(os.path.join(real_path(folder), "")) for folder in sys.path if folder)
