"""Names and numbers for the sizes of a draft: as the program says, else by their names, large enough that a GPU has something to do."""

from __future__ import annotations

import keyword
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, field

from kernelband.workload.draft import names
from kernelband.workload.draft.values import CEILING, POWER, Param, Shape, Size, tensor_of

MOST_ELEMENTS = 1 << 26  # of a tensor
PLENTY = 1 << 20  # a size of a kernel that goes over rows is no larger
LONG = 1024  # a dimension that isn't long isn't shortened before all others are as short
LONGEST_NAME = 24


@define
class Sizes:
    """``labels``: how the draft calls each size that has no value of its own. ``numbers``: what was chosen. ``answers``: by label."""

    labels: dict[Size, str]
    answers: Mapping[str, int]
    numbers: dict[Size, int] = field(factory=dict[Size, int])

    def number(self, size: Size) -> int:
        """How large it is."""
        root = size.root
        if root in self.numbers:
            return self.numbers[root]
        if root.value is not None:
            return root.value
        if root.formula is not None:
            return max(1, _calculated(root.formula[0], *map(self.number, root.formula[1:])))
        if root.numel is not None:
            return math.prod(map(self.number, root.numel.dims()))
        return self.choose(root, names.size_of_name(root.names) or names.COLUMNS)

    def choose(self, root: Size, guess: int) -> int:
        """A number for one that has none, as near to the guess as what is known of it lets it be."""
        asked = self.answers.get(self.labels.get(root, ""))
        self.numbers[root] = asked if asked is not None else self.fitting(root, guess)
        return self.numbers[root]

    def fitting(self, root: Size, guess: int) -> int:
        """As ``choose``, without writing it down."""
        if root.allowed:
            return max((a for a in root.allowed if a <= guess), default=min(root.allowed))
        if root.most is not None and guess > root.most:
            guess = 1 << max(root.most, 1).bit_length() - 1
        guess = -(-guess // root.multiple) * root.multiple
        for number in (self.numbers.get(m.root, m.root.value) for m in root.divides):
            guess = math.gcd(number, guess) if number else guess
        return guess

    def text(self, size: Size) -> str:
        """How it is written in the draft: its label, its number, or what it is made of."""
        root = size.root
        if root in self.labels:
            return self.labels[root]
        if root.value is not None or not root.parts:
            return str(self.number(root))
        operator, *parts = root.formula if root.formula is not None else ("*", *root.parts)
        said = list(map(self.text, parts))
        if operator in (POWER, CEILING):
            return f"triton.{operator}({', '.join(said[: 1 if operator == POWER else 2])})"
        return f" {operator} ".join(f"({s})" if " " in s and (operator != "+" or "//" in s) else s for s in said)


def _calculated(operator: str, a: int, b: int) -> int:
    rounded = {CEILING: -(-a // max(b, 1)), POWER: 1 << (max(a, 1) - 1).bit_length()}
    return {"+": a + b, "-": a - b, "*": a * b, "//": a // max(b, 1), **rounded}[operator]


def choose_sizes(params: Sequence[Param], answers: Mapping[str, int], taken: Collection[str], made: Sequence[Shape] = ()) -> Sizes:
    """Names and numbers for all dimensions of the tensors and for what they depend on.

    Args:
        params: of the function.
        answers: what a person says, by label.
        taken: names that mean something else.
        made: shapes of what the function makes for the kernel, which must not be too large, either.
    """
    tensors = [t for p in params if (t := tensor_of(p)) is not None and t.shape.root.rank is not None]
    shapes = [t.shape for t in tensors]
    own = {p.size.root: p.label for p in params if p.kind == "int"}
    free = [s for s in _needed(shapes, own) if s.value is None and s.formula is None and s.numel is None]
    sizes = Sizes(_labels(free, shapes, own, taken), answers)
    flat = all(s.rows < 2 for s in shapes) and not any("integer" in p.tensor.marks for p in params)
    for shape in shapes:
        for at, size in enumerate(shape.dims()):
            if size.root in free and size.root not in sizes.numbers:
                sizes.choose(size.root, _guess(shape, at, flat=flat))
    for root in free:
        if root not in own:
            sizes.number(root)
    known = [s for s in made if s.root.rank is not None and all(d.root in sizes.numbers or d.root.parts for d in s.dims())]
    for shape in (*shapes, *known):
        _shrink(sizes, shape)
    return sizes


def _needed(shapes: Iterable[Shape], counts: Iterable[Size]) -> list[Size]:
    """The roots of all dimensions and of what they are made of, each once."""
    out: dict[Size, None] = {}
    queue = [*(d for s in shapes for d in s.dims()), *counts]
    while queue:
        root = queue.pop(0).root
        if root not in out:
            out[root] = None
            if root.depends_on(root):  # a shape that became known afterwards
                root.formula = root.numel = None
            if root.numel is not None and root.numel.root.rank is None:
                root.numel = None
            queue += root.parts
    return list(out)


def _labels(free: Sequence[Size], shapes: Sequence[Shape], own: Mapping[Size, str], taken: Collection[str]) -> dict[Size, str]:
    labels: dict[Size, str] = {}
    used = {*taken, *own.values()}
    for root in free:
        said = own.get(root) or next((n for n in root.names if _is_name(n) and n not in used), None)
        if said is not None:
            labels[root] = said
            used.add(said)
    for shape in shapes:
        defaults = names.UNNAMED.get(shape.rows, tuple((f"n{i}", 0) for i in range(shape.rows)))
        for size, (name, _) in zip(shape.dims(), defaults, strict=True):
            if size.root in free and size.root not in labels:
                labels[size.root] = next(n for n in (name, *(f"{name}{i}" for i in range(2, 1000))) if n not in used)
                used.add(labels[size.root])
    return labels


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name.isascii() and not name.startswith("_") and len(name) <= LONGEST_NAME


def _guess(shape: Shape, at: int, *, flat: bool) -> int:
    dims = [d.root.names for d in shape.dims()]
    rank, own = len(dims), dims[at]
    found = names.size_of_name(own, image=rank == 4 and names.is_image([n for said in dims for n in said[:1]]))
    if found is not None and not (rank == 1 and flat):
        last = rank >= 4 and at == rank - 1
        return names.WIDTH if last and found >= names.COLUMNS else found if found < PLENTY else names.COLUMNS
    number = next((n for name in own if (n := names.number_of_name(name)) is not None and n.isdecimal() and n != "0"), None)
    if number is not None:
        return int(number)
    if rank < 4 and not flat and own[:1] in (["N"], ["n"]):
        return names.COLUMNS
    if rank == 1:
        return names.FLAT if flat else names.ROWS
    default = names.UNNAMED.get(rank)
    return default[at][1] if default is not None else 16


def _shrink(sizes: Sizes, shape: Shape) -> None:
    """Until it has no more than so many elements: the first dimension that is long and guessed is halved, and halved again."""
    roots = _needed([shape], [])
    while math.prod(map(sizes.number, shape.dims())) > MOST_ELEMENTS:
        may = [root for root in roots if _may_shrink(sizes, root)]
        root = next((r for r in may if sizes.numbers[r] > LONG), max(may, key=lambda r: sizes.numbers[r], default=None))
        if root is None:
            return
        sizes.numbers[root] //= 2


def _may_shrink(sizes: Sizes, root: Size) -> bool:
    half, odd = divmod(sizes.numbers.get(root, 0), 2)
    fits = half >= max(root.multiple, 16) and not odd and half % root.multiple == 0
    return fits and not root.allowed and sizes.labels.get(root) not in sizes.answers
