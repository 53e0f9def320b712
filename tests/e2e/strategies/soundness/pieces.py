"""What random programs are put together from: choices, kernels with what is passed to them, launches in the many ways that people write.

A program's module has ``host(...)``, which launches, ``make(fill, *sizes)`` for its arguments, ``reference(...)`` in float64 where that is
easy, and ``test_entry()``. ``fill(*shape, dtype=...)`` gives a tensor its values: random ones, or those of a stress.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import define, field, frozen

Sizes = tuple[int, ...]

HEAD = """\
import torch
import triton
import triton.language as tl


"""
ENTRY = """

def fill(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype)


def test_entry():
    for sizes in {sizes}:
        host(*make(fill, *sizes))
"""
#: Ways to write down which kernel is launched; all but the first and the last leave open which one that is, or whether it's the only one.
WAYS = ("direct", "condition", "table", "loop", "passed", "called", "twice", "alias")


@frozen
class Sample:
    """A program. ``sizes`` are those of its entry, which a capture sees; ``stress`` are others, which it may refuse."""

    name: str
    text: str = field(repr=False)
    kernel: str
    sizes: tuple[Sizes, ...]
    stress: tuple[Sizes, ...]


class Pick(random.Random):
    """Choices, the same for the same seed."""

    def of(self, *options: str) -> str:
        """One of them."""
        return self.choice(options)

    def number(self, *options: int) -> int:
        """One of them."""
        return self.choice(options)

    def yes(self, chance: float = 0.5) -> bool:
        """True as often as that."""
        return self.random() < chance


#: Styles of numbers that the grid reads of what the launch is given.
BY_META = frozenset({"meta", "tuned", "heuristic", "heuristics"})


@define
class Draft:
    """A kernel and its host function while they are put together.

    ``passed``: the kernel's parameters with what is passed for each; ``blocks``: its constants with their numbers, or their code;
    ``given``: the host function's parameters with the code that makes each.
    """

    pick: Pick
    kernel: str
    sizes: str  # names of the sizes that ``make`` gets
    passed: list[tuple[str, str]] = field(factory=list)
    blocks: dict[str, int | str] = field(factory=dict)
    body: list[str] = field(factory=list)
    given: list[tuple[str, str]] = field(factory=list)
    host: list[str] = field(factory=list)  # lines before the launch
    helpers: list[str] = field(factory=list)
    sides: list[tuple[str, str | None]] = field(factory=list)  # of the grid: a size, and the block that it is divided by
    product: bool = False  # all sides in one
    #: How numbers are written: "literal", "variable", "branches", "meta", "module", "tuned", "heuristic", "heuristics" (out of sight).
    style: str = ""
    tuned_warps: bool = False  # autotuned, by warps alone
    options: list[str] = field(factory=list)
    default: int = 0  # of the last constant
    between: list[str] = field(factory=list)  # lines between the grid and the launch
    result: str = "out"

    def tensor(self, parameter: str, name: str, made: str) -> None:
        """A tensor that the host function gets and passes on."""
        self.passed.append((parameter, name))
        self.given.append((name, made))

    def number(self, parameter: str, code: str) -> None:
        """A number that the host function computes."""
        self.passed.append((parameter, code))

    def text(self, name: str | None = None) -> str:
        """The kernel."""
        parameters = [p for p, _ in self.passed] + [f"{b}: tl.constexpr" for b in self.blocks]
        if self.default:
            parameters[-1] += f" = {self.default}"
        rows = "".join(f"    {row}\n" for row in self.body)
        tuned = ""
        if self.style == "tuned":
            items = ", ".join(f'"{n}": {v}' for n, v in self.blocks.items())
            tuned = f"@triton.autotune(configs=[triton.Config({{{items}}}, num_warps=2)], key=[])\n"
        if self.style in ("heuristic", "heuristics"):
            items = ", ".join(f'"{n}": lambda args: {v}' for n, v in self.blocks.items())
            tuned = f"@triton.heuristics({{{items}}})\n" if self.style == "heuristic" else "@triton.heuristics(blocks())\n"
            self.helpers += [f"def blocks():\n    return {{{items}}}\n"] if self.style == "heuristics" else []
        if self.tuned_warps:
            tuned = "@triton.autotune(configs=[triton.Config({}, num_warps=n) for n in (2, 4)], key=[])\n"
        return f"{tuned}@triton.jit\ndef {name or self.kernel}({', '.join(parameters)}):\n{rows}"

    def launch(self) -> tuple[str, list[str]]:
        """Lines for the module and for the host function."""
        computed = any(isinstance(v, str) for v in self.blocks.values())
        style = self.style or self.pick.of(*(("variable", "literal") if computed else ("literal", "variable", "meta", "module")))
        top, lines = "", list[str]()
        words = {n: str(v) for n, v in self.blocks.items()}
        if style == "variable":
            lines += [f"{n} = {v}" for n, v in self.blocks.items()]
            words = {n: n for n in self.blocks}
        elif style == "branches":
            bound = [f"    {n} = {v}" for n, v in self.blocks.items()]
            lines += [f"if {self.sides[0][0]} > 20:", *bound, "else:", *bound]
            words = {n: n for n in self.blocks}
        elif style == "module":
            top = "".join(f"THE_{n} = {v}\n" for n, v in self.blocks.items())
            words = {n: f"THE_{n}" for n in self.blocks}
        code: list[str] = []
        floor = self.pick.yes(0.3)
        for size, block in self.sides:
            if block is None:
                code.append(size)
                continue
            word = f'meta["{block}"]' if style in BY_META else words[block]
            less = str(int(word) - 1) if word.isdecimal() and self.pick.yes() else f"{word} - 1"
            code.append(f"({size} + {less}) // {word}" if floor else f"triton.cdiv({size}, {word})")
        if style in BY_META - {"meta"}:
            words = {}
        if self.product:
            code = [" * ".join(f"({c})" if "//" in c else c for c in code)]
        grid = f"({', '.join(code)}{',' if len(code) == 1 else ''})"
        grid = f"lambda meta: {grid}" if style in BY_META else grid
        if style in BY_META or self.pick.yes():
            lines.append(f"grid = {grid}")
            grid = "grid"
        lines += self.between
        named = self.pick.yes(0.8)
        given = [a for _, a in self.passed] + [f"{n}={w}" if named else w for n, w in words.items()] + self.options
        return top, [*lines, f"{self.kernel}[{grid}]({', '.join(given)})"]


def finished(
    name: str,
    draft: Draft,
    sizes: Sequence[Sizes],
    stress: Sequence[Sizes],
    *,
    way: str = "direct",
    change: tuple[str, str] = ("", ""),
    reference: Sequence[str] = (),
) -> Sample:
    """The program.

    Args:
        name: what it is, for people.
        draft: its kernel and host function.
        sizes: of the entry.
        stress: others.
        way: how the launch says which kernel it is.
        change: what another kernel does otherwise.
        reference: lines of ``reference``, after its arguments were made float64.
    """
    draft.default = draft.pick.number(0, 0, 0, 64)
    top, lines = draft.launch()
    kernel = draft.text()
    parts = [*draft.helpers, kernel]
    behind = lines[-1].removeprefix(draft.kernel)
    other = f"other_{draft.kernel}"
    if way in ("condition", "table", "loop"):
        parts.append(draft.text(other).replace(*change))
    if way == "condition":
        lines[-1:] = [f"kern = {draft.kernel} if x.shape[0] % 2 else {other}", f"kern{behind}"]
    elif way == "table":
        top += f'OPS = {{"one": {draft.kernel}, "two": {other}}}\n'
        lines[-1] = f'OPS["one" if x.shape[0] % 2 else "two"]{behind}'
    elif way == "loop":
        lines[-1:] = [f"for kern in ({other}, {draft.kernel}):", f"    kern{behind}"]
    elif way == "passed":
        grid, _, inside = behind[1:].partition("](")
        parts.append("def start(kern, grid, *given, **named):\n    kern[grid](*given, **named)\n")
        lines[-1] = f"start({draft.kernel}, {grid}, {inside}"
    elif way == "alias":
        lines[-1:] = [f"kern = {draft.kernel}", f"kern{behind}"]
    elif way in ("called", "twice"):
        again = draft.kernel
        if way == "called":
            again = f"outer_{draft.kernel}"
            names = [p for p, _ in draft.passed] + list(draft.blocks)
            outer = Draft(draft.pick, again, draft.sizes, draft.passed, draft.blocks, [f"{draft.kernel}({', '.join(names)})"])
            parts.append(outer.text())
        lines += [f"{draft.result} = {draft.result}.clone()", f"{again}{behind}"]
    parameters = ", ".join(n for n, _ in draft.given)
    made = ", ".join(m for _, m in draft.given)
    body = [*(p.strip("\n") + "\n" for p in (*parts, top) if p.strip())]
    body.append(_function(f"host({parameters})", [*draft.host, *lines, f"return {draft.result}"]))
    body.append(_function(f"make(fill, {draft.sizes})", [f"return ({made},)"]))
    if reference and way in ("direct", "passed", "called", "alias"):
        body.append(_function(f"reference({parameters})", reference))
    return Sample(f"{name}, {way}", HEAD + "\n\n".join(body) + ENTRY.format(sizes=tuple(sizes)), draft.kernel, tuple(sizes), tuple(stress))


def _function(head: str, lines: Sequence[str]) -> str:
    return f"def {head}:\n" + "".join(f"    {line}\n" for line in lines)
