"""What is known of a host function's arguments while its text is read: sizes, shapes, tensors, parameters, and that some are the same."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, TypeAlias, TypeVar, cast

from attrs import define, field, frozen

from kernelband.workload.draft.code import Definition

GUESSED = "guessed"
CEILING = "cdiv"  # in a formula: the first size by the second, rounded up
POWER = "next_power_of_2"  # in a formula: of its first size
Kind = Literal["tensor", "tensors", "ints", "int", "float", "bool", "str", "dtype", "device", "none"]
#: What kernels do with a tensor: index with it, or compare it with a place (integer); ask whether it is true (boolean); cast it to
#: float32 or multiply it as a matrix (half); take it as float32 (full); store to it at places that are loaded (scattered). With numbers:
#: calculate (fraction); compare places with them, or make places of them (count).
Mark = Literal["loaded", "stored", "integer", "boolean", "half", "full", "scattered", "fraction", "count"]
Same = TypeVar("Same", bound="Joined")


@define(eq=False)
class Joined:
    """Something that may turn out to be the same as another of its kind."""

    _same: Joined | None = field(default=None, init=False)

    @property
    def root(self: Same) -> Same:
        """The one that stands for all that are the same."""
        at: Joined = self
        while at._same is not None:
            at = at._same
        return cast("Same", at)


@define(eq=False)
class Size(Joined):
    """An integer of which ``value`` may be known: a dimension, or a parameter that is one. ``formula``: it is made of two others."""

    names: list[str] = field(factory=list[str])  # as the program calls it, the first one first
    value: int | None = None
    allowed: tuple[int, ...] = ()
    most: int | None = None
    multiple: int = 1
    divides: list[Size] = field(factory=list["Size"])  # sizes that are multiples of this one
    formula: tuple[str, Size, Size] | None = None
    numel: Shape | None = None

    def call(self, name: str) -> None:
        """The program has that name for it, too."""
        if name not in self.root.names:
            self.root.names.append(name)

    def merge(self, other: Size) -> None:
        """They are the same from now on; where two things are known that don't agree, the first one holds."""
        one, two = self.root, other.root
        if one is two or two.depends_on(one) or one.depends_on(two):
            return
        if one.value is not None and two.value is not None and one.value != two.value:
            return
        if one.formula is not None and two.formula is None and two.value is None:
            one, two = two, one
        one.names += [n for n in two.names if n not in one.names]
        one.value = two.value if one.value is None else one.value
        one.allowed = tuple(a for a in one.allowed if a in two.allowed) if one.allowed and two.allowed else one.allowed or two.allowed
        one.most = min((x for x in (one.most, two.most) if x is not None), default=None)
        one.multiple = max(one.multiple, two.multiple)
        one.divides += two.divides
        one.formula, one.numel = one.formula or two.formula, one.numel or two.numel
        two._same = one

    @property
    def parts(self) -> list[Size]:
        """What it is made of, where that is known."""
        here = self.root
        made = list(here.formula[1:]) if here.formula is not None else []
        return made + (here.numel.dims() if here.numel is not None else [])

    def depends_on(self, other: Size, depth: int = 12) -> bool:
        """Whether it comes down to ``other``."""
        return depth > 0 and any(p.root is other.root or p.depends_on(other, depth - 1) for p in self.parts)


@define(eq=False)
class Shape(Joined):
    """Dimensions as far as they are known: ``rank``, or at least ``least`` of them; by their place from the front or from the back."""

    rank: int | None = None
    least: int = 0
    later: list[tuple[Dims, Dims]] = field(factory=list["tuple[Dims, Dims]"])  # parts that are equal
    _front: dict[int, Size] = field(factory=dict[int, Size])

    @property
    def known(self) -> bool:
        """Whether anything is."""
        return self.root.rank is not None or self.root.least > 0

    @property
    def rows(self) -> int:
        """The rank, 0 where it isn't known."""
        return self.root.rank or 0

    @property
    def from_back(self) -> bool:
        """Whether a dimension is known by its place from the back."""
        return any(index < 0 for index in self.root._front)

    def dim(self, index: int) -> Size:
        """The size at a place; a negative one counts from the back."""
        here = self.root
        if here.rank is not None and index < 0:
            index += here.rank
        here.least = max(here.least, index + 1 if index >= 0 else -index)
        return here._front.setdefault(index, Size())

    def set_rank(self, rank: int) -> bool:
        """So many dimensions it has; whether that agrees with what is known."""
        here = self.root
        if here.rank is not None:
            return here.rank == rank
        if rank < here.least:
            return False
        here.rank = rank
        for index in [i for i in here._front if i < 0]:
            size = here._front.pop(index)
            here._front.setdefault(index + rank, size).merge(size)
        return True

    def set_dims(self, sizes: Sequence[Size | None]) -> bool:
        """They are these, as far as they are known; whether that may be."""
        if not self.set_rank(len(sizes)):
            return False
        for at, size in enumerate(sizes):
            if size is not None:
                self.dim(at).merge(size)
        return True

    def dims(self) -> list[Size]:
        """Of a shape whose rank is known."""
        return [self.dim(i) for i in range(self.rows)]

    def merge(self, other: Shape) -> None:
        """They are the same from now on, unless their ranks are known to differ."""
        one, two = self.root, other.root
        if one is two:
            return
        rank = one.rank if one.rank is not None else two.rank
        if rank is not None and not (one.set_rank(rank) and two.set_rank(rank)):
            return
        for index, size in two._front.items():
            one._front.setdefault(index, size).merge(size)
        one.least = max(one.least, two.least)
        one.later += two.later
        two._same = one


@define(eq=False)
class Dtype(Joined):
    """What elements are, ``x.dtype``: a name of torch's, once it is known, and why."""

    name: str | None = None
    why: str = ""

    def set(self, name: str, why: str) -> None:
        """Where nothing else is known."""
        if self.root.name is None:
            self.root.name, self.root.why = name, why

    def merge(self, other: Dtype) -> None:
        """They are the same from now on."""
        one, two = self.root, other.root
        if one is not two:
            if two.name is not None:
                one.set(two.name, two.why)
            two._same = one


@define(eq=False)
class Tensor:
    """A tensor of the host function: an argument of that ``name``, or one that it makes."""

    name: str = ""
    shape: Shape = field(factory=Shape)
    dtype: Dtype = field(factory=Dtype)
    marks: set[Mark] = field(factory=set[Mark])
    index_of: tuple[Tensor, int] | None = None  # it holds places along that dimension of another one
    views: list[Tensor] = field(factory=list["Tensor"])  # with the same elements
    of: Tensor | None = None  # the one that has the same elements, of which it is another view
    why: str = ""  # its shape is as it is

    def view(self, shape: Shape) -> Tensor:
        """One of another shape with the same elements."""
        self.views.append(Tensor(shape=shape, dtype=self.dtype, of=self))
        return self.views[-1]


@define(eq=False)
class Param:
    """A parameter of the function that the draft calls. Its kind is known once something says it; until then it may be any."""

    name: str
    default: ast.expr | None = None
    keyword_only: bool = False
    kind: Kind | None = None
    why: str = ""  # what says the kind
    optional: bool = False  # may be None
    tensor: Tensor = field(init=False)
    size: Size = field(init=False)
    choices: tuple[object, ...] = ()  # it is compared with
    value: str = ""  # written at a call
    label: str = field(init=False)  # what the draft calls it
    fraction: bool = False  # the kernel calculates with it, or something says that it lies between 0 and 1

    def __attrs_post_init__(self) -> None:
        self.label, self.tensor, self.size = self.name, Tensor(self.name), Size([self.name])

    def is_a(self, kind: Kind, why: str) -> None:
        """Where nothing else is known."""
        if self.kind is None:
            self.kind, self.why = kind, why


@frozen
class Rank:
    """``x.dim()``."""

    shape: Shape


@frozen
class Stride:
    """``x.stride(i)``."""

    tensor: Tensor
    index: int


@frozen
class Dims:
    """``x.shape`` or a part of it: from ``start`` up to ``stop``, as a slice has them. ``strides``: ``x.stride()`` instead."""

    tensor: Tensor
    start: int | None = None
    stop: int | None = None
    strides: bool = False

    @property
    def shape(self) -> Shape:
        return self.tensor.shape

    @property
    def whole(self) -> bool:
        return self.start is None and self.stop is None

    def item(self, index: int) -> Size | Stride:
        """The one at a place of the whole."""
        size = self.shape.dim(index)
        return Stride(self.tensor, index) if self.strides else size

    def at(self, index: int, count: int) -> Size | Stride:
        """The one at a place, where there are so many."""
        if self.start is not None and self.start < 0:
            return self.item(self.start + index)
        if self.start is None and self.stop is not None and self.stop < 0 and self.shape.root.rank is None:
            self.shape.set_rank(count - self.stop)
        return self.item((self.start or 0) + index)


@frozen
class Const:
    """A literal, or a dtype of torch's by its name."""

    value: object


@frozen
class Several:
    """A tuple or list."""

    items: tuple[Value, ...]


@frozen(eq=False)
class Linear:
    """A ``torch.nn.Linear``: the last dimension that it takes."""

    taken: Size | None


@define(eq=False)
class Instance:
    """An object of a class of the workspace: ``self`` with what ``__init__`` puts there."""

    attributes: dict[str, Value] = field(factory=dict[str, "Value"])
    of: Definition | None = None  # its class


Known: TypeAlias = Param | Tensor | Size | Dtype | Dims | Rank | Stride | Const | Several | Linear | Instance | Definition
Value: TypeAlias = Known | None


def tensor_of(value: Value, why: str | None = None) -> Tensor | None:
    """The tensor that it is; of a parameter of which nothing is known yet, that it must be, where there is a ``why``."""
    if isinstance(value, Param):
        if why is not None:
            value.is_a("tensor", why)
        return value.tensor if value.kind in ("tensor", "tensors") else None
    return value if isinstance(value, Tensor) else None


def size_of(value: Value) -> Size | None:
    """The size that it is or may be."""
    if isinstance(value, Param):
        return value.size if value.kind in (None, "int") else None
    number = whole(value)
    return Size(value=number) if number is not None else value if isinstance(value, Size) else None


def whole(value: Value) -> int | None:
    """The whole number that a literal is."""
    return value.value if isinstance(value, Const) and type(value.value) is int else None
