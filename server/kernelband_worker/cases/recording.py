"""What a recorder writes down, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases.store import TreeRecord
from kernelband_worker.cases.tensors import Storages
from kernelband_worker.wire import Function


class StopCapture(BaseException):
    """Ends the entry early: enough was seen or the time is up. Not an Exception, so that the user's handlers let it pass."""


@dataclass
class Recording:
    """One kind of call as it was first seen in one run of the entry."""

    key: str
    boundary: str
    function: Function
    order: int
    facts: List[Dict[str, Any]]
    constants: Dict[str, Any]
    line: str
    tree: Optional[TreeRecord] = None
    closure: bool = False
    mutated: List[int] = field(default_factory=list)
    outputs: List[Tuple[str, str, Dict[str, Any]]] = field(default_factory=list)  # name, digest of the content, shape and dtype
    output_bytes: int = 0
    launches: List[Dict[str, Any]] = field(default_factory=list)
    aliases: Dict[str, Optional[str]] = field(default_factory=dict)
    changed_globals: List[str] = field(default_factory=list)
    reason: Optional[str] = None
    outer: Optional[Function] = None  # the workspace function that called it
    calls: int = 1

    @property
    def reads_rng(self) -> bool:
        """Whether the call consumed random numbers."""
        return self.tree is not None and self.tree.rng is not None


@dataclass
class Open:
    """A host call that is running."""

    launches: List[Dict[str, Any]] = field(default_factory=list)
    inner: bool = False  # a recorded call inside it launched the kernel and can be replayed


@dataclass
class Snapshot:
    """What is known of a call before it runs."""

    function: Function
    boundary: str
    outer: Optional[Function]
    key: str = ""
    constants: Dict[str, Any] = field(default_factory=dict)
    pickled: Optional[bytes] = None
    storages: Optional[Storages] = None
    facts: List[Dict[str, Any]] = field(default_factory=list)
    copies: List[torch.Tensor] = field(default_factory=list)
    tensors: List[Tuple[str, torch.Tensor]] = field(default_factory=list)
    modes: Dict[str, Any] = field(default_factory=dict)
    rng: Dict[str, Any] = field(default_factory=dict)
    globals: Dict[str, Any] = field(default_factory=dict)
    closure: bool = False
    reason: Optional[str] = None


@dataclass
class Limits:
    """When to stop: a moment of ``time.monotonic``, a number of distinct cases, and a moment from which any case is enough."""

    deadline: float
    distinct: int
    enough: float = float("inf")
