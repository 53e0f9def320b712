"""What a kernel's expression is made of, and what is known of a parameter from all of them."""

from __future__ import annotations

from attrs import define, field, frozen

RANGE = "range"  # tl.arange, as a part of an address
PROGRAM = "program"  # tl.program_id(0) is program0


@define
class Use:
    """Of one parameter. ``bounds``: what masks compare the places with that are read or written, in their order.

    ``index``: pointers whose addresses are made of what is loaded here, and whether it is multiplied there. ``parts``: what its addresses
    are made of: parameters, and the words above; ``strides``: those of them by which places are multiplied; ``around``: those at which
    they begin anew (``row % seq_len``); ``spans``: how far a row is gone through at once; ``steps``: parameters that an axis of the grid is
    multiplied by, with that axis. A bound may be a part of a parameter: ``head_dim // 2``.
    """

    loaded: bool = False
    stored: bool = False
    parts: set[str] = field(factory=set[str])
    strides: set[str] = field(factory=set[str])
    around: set[str] = field(factory=set[str])
    spans: set[str] = field(factory=set[str])
    steps: set[tuple[str, int]] = field(factory=set["tuple[str, int]"])
    bounds: list[str] = field(factory=list[str])
    index: list[tuple[str, bool]] = field(factory=list["tuple[str, bool]"])
    integer: bool = False
    boolean: bool = False
    half: bool = False
    full: bool = False
    fraction: bool = False  # a number that is calculated with
    count: bool = False  # a number that places are compared with, or made of
    covers: str = ""  # the parameter that it must be as large as: a block of so many elements is all that there is
    scattered: bool = False  # places that are loaded say where is stored

    @property
    def pointer(self) -> bool:
        return self.loaded or self.stored

    @property
    def programs(self) -> list[int]:
        """The axes of the grid that its addresses depend on."""
        return sorted(int(p.removeprefix(PROGRAM)) for p in self.parts if p.startswith(PROGRAM))


@frozen
class Place:
    """``bases``: parameters that are added up; ``loaded``: the pointers whose contents it is made of, and whether they are multiplied."""

    bases: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    strides: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    steps: frozenset[tuple[str, int]] = frozenset()
    spans: frozenset[str] = frozenset()  # parameters up to which an arange in it counts that is multiplied by nothing; "" for a number
    loaded: frozenset[tuple[str, bool]] = frozenset()
    bounds: tuple[str, ...] = ()
    cast: bool = False
    compared: bool = False
    constant: object = None
    part: str = ""  # it is a parameter divided by a number
    span: str = ""  # the parameter up to which tl.arange counts


def merged(*values: Place) -> Place:
    """What is made of several. Half of what is cast and half of what isn't comes out as float32."""
    loading = [v for v in values if v.loaded]
    return Place(
        tuple(dict.fromkeys(b for v in values for b in v.bases)),
        frozenset[str]().union(*(v.parts for v in values)),
        frozenset[str]().union(*(v.strides for v in values)),
        frozenset[str]().union(*(v.around for v in values)),
        frozenset[tuple[str, int]]().union(*(v.steps for v in values)),
        frozenset[str]().union(*(v.spans for v in values)),
        frozenset[tuple[str, bool]]().union(*(v.loaded for v in values)),
        tuple(dict.fromkeys(b for v in values for b in v.bounds)),
        any(v.cast for v in (loading or values)) or any(v.cast for v in values),
        any(v.compared for v in values),
        span=next((v.span for v in values if v.span), ""),
    )
