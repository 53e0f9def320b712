"""Names and numbers for the sizes of a draft: as the program says, else by their names, large enough that a GPU has something to do."""

from __future__ import annotations

import keyword
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, field

from kernelband.workload.draft import names
from kernelband.workload.draft.values import CEILING, POWER, Param, Shape, Size

MOST_ELEMENTS = 1 << 26  # of a tensor
PLENTY = 1 << 20  # a size of a kernel that goes over rows is no larger
DEEPEST = 12
LONG = 1024  # a dimension that isn't long isn't shortened before all others are as short
LONGEST_NAME = 24


@define
class Sizes:
    """``labels``: how the draft calls each size that has no value of its own. ``numbers``: what was chosen. ``answers``: by label."""

    labels: dict[Size, str]
    answers: Mapping[str, int]
    numbers: dict[Size, int] = field(factory=dict[Size, int])

    def number(self, size: Size, depth: int = 0) -> int:
        """How large it is."""
        root = size.root
        if root in self.numbers:
            return self.numbers[root]
        if root.value is not None:
            return root.value
        if root.formula is not None and depth < DEEPEST:
            operator, left, right = root.formula
            a, b = self.number(left, depth + 1), self.number(right, depth + 1)
            return max(1, _calculated(operator, a, b))
        if root.numel is not None and depth < DEEPEST:
            return math.prod(self.number(d, depth + 1) for d in root.numel.dims())
        return self.choose(root, names.size_of_name(root.names) or names.COLUMNS)

    def choose(self, root: Size, guess: int) -> int:
        """A number for one that has none, as near to the guess as what is known of it lets it be."""
        asked = self.answers.get(self.labels.get(root, ""))
        self.numbers[root] = asked if asked is not None else self.fitting(root, guess)
        return self.numbers[root]

    def fitting(self, root: Size, guess: int) -> int:
        """As ``choose``, without writing it down."""
        if root.allowed:
            fitting = [a for a in root.allowed if a <= guess]
            return guess if guess in root.allowed else max(fitting) if fitting else min(root.allowed)
        if root.most is not None and guess > root.most:
            guess = 1 << max(root.most, 1).bit_length() - 1
        if root.least is not None and guess < root.least:
            guess = 1 << (max(root.least, 1) - 1).bit_length()
        if guess % root.multiple:
            guess = -(-guess // root.multiple) * root.multiple
        for multiple in root.divides:
            number = self.numbers.get(multiple.root, multiple.root.value)
            if number is not None and number % guess:
                guess = math.gcd(number, guess)
        return guess

    def text(self, size: Size, depth: int = 0) -> str:
        """How it is written in the draft: its label, its number, or what it is made of."""
        root = size.root
        if root in self.labels:
            return self.labels[root]
        if root.value is None and root.formula is not None and depth < DEEPEST:
            operator, left, right = root.formula
            if operator == POWER:
                return f"triton.{POWER}({self.text(left, depth + 1)})"
            if operator == CEILING:
                return f"triton.{CEILING}({self.text(left, depth + 1)}, {self.text(right, depth + 1)})"
            return " ".join((self._part(left, operator, depth), operator, self._part(right, operator, depth)))
        if root.value is None and root.numel is not None and depth < DEEPEST:
            return " * ".join(self._part(d, "*", depth) for d in root.numel.dims())
        return str(self.number(root))

    def _part(self, size: Size, operator: str, depth: int) -> str:
        said = self.text(size, depth + 1)
        return f"({said})" if " " in said and (operator != "+" or "//" in said) else said


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
    shapes = [p.tensor.shape for p in params if p.kind in ("tensor", "tensors") and p.tensor.shape.root.rank is not None]
    counts = [p.size.root for p in params if p.kind == "int"]
    free = [s for s in _needed(shapes, counts) if s.value is None and s.formula is None and s.numel is None]
    own = {p.size.root: p.label for p in params if p.kind == "int"}
    sizes = Sizes(_labels(free, shapes, own, taken), answers)
    flat = all((s.root.rank or 0) < 2 for s in shapes) and not any(p.tensor.integer for p in params)
    for shape in shapes:
        for at, size in enumerate(shape.dims()):
            root = size.root
            if root in free and root not in sizes.numbers:
                sizes.choose(root, _guess(shape, at, flat=flat))
    for root in free:
        if root not in sizes.numbers and root not in counts:
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
        dims = shape.dims()
        defaults = names.UNNAMED.get(len(dims), tuple((f"n{i}", 0) for i in range(len(dims))))
        for size, (name, _) in zip(dims, defaults, strict=True):
            if size.root in free and size.root not in labels:
                labels[size.root] = _unused(name, used)
                used.add(labels[size.root])
    return labels


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name.isascii() and not name.startswith("_") and len(name) <= LONGEST_NAME


def _unused(name: str, used: Collection[str]) -> str:
    return next(n for n in (name, *(f"{name}{i}" for i in range(2, 1000))) if n not in used)


def _guess(shape: Shape, at: int, *, flat: bool) -> int:
    dims = shape.dims()
    spoken = [n for d in dims for n in d.root.names[:1]]
    found = names.size_of_name(dims[at].root.names, image=len(dims) == 4 and names.is_image(spoken))
    if found is not None and not (len(dims) == 1 and flat):
        last = len(dims) >= 4 and at == len(dims) - 1
        return names.WIDTH if last and found >= names.COLUMNS else found if found < PLENTY else names.COLUMNS
    number = next((n for name in dims[at].root.names if (n := names.number_of_name(name)) is not None and n.isdecimal() and n != "0"), None)
    if number is not None:
        return int(number)
    if len(dims) < 4 and not flat and dims[at].root.names[:1] in (["N"], ["n"]):
        return names.COLUMNS
    if len(dims) == 1:
        return names.FLAT if flat else names.ROWS
    default = names.UNNAMED.get(len(dims))
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
    number = sizes.numbers.get(root, 0)
    asked = sizes.labels.get(root) in sizes.answers
    fits = number // 2 >= max(root.least or 1, root.multiple, 16) and number % 2 == 0 and (number // 2) % root.multiple == 0
    return not asked and not root.allowed and fits
