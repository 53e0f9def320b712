"""The nouns of source text: what is found in it, and what is changed in it.

All positions are character offsets into the decoded text, with line ends untouched. Paths are absolute, resolved strings.
"""

from __future__ import annotations

import hashlib

from attrs import field, frozen

from kernelband.errors import StaleText


def text_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, hex: the base hash of patches and the name of blobs."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@frozen(order=True)
class Span:
    """Characters ``start`` (included) to ``end`` (excluded)."""

    start: int
    end: int


@frozen
class Place:
    """A function or class, by file and Python qualname (``<locals>`` included)."""

    path: str
    qualname: str

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]


@frozen
class Expression:
    """A piece of source with its place. ``names`` are the variables that it reads, in order of first use."""

    text: str
    span: Span
    names: tuple[str, ...] = ()


@frozen
class Parameter:
    """A parameter of a jit function."""

    name: str
    span: Span
    constexpr: bool
    annotation: str | None = None
    default: str | None = None


@frozen
class Config:
    """One ``triton.Config`` of an autotune list: its constexprs by name, and num_warps and so on."""

    span: Span
    constants: dict[str, Expression] = field(hash=False)
    options: dict[str, Expression] = field(hash=False)


@frozen
class Kernel:
    """A ``@triton.jit`` function. ``span`` covers decorators and body; ``name_span`` the name in ``def NAME``."""

    place: Place
    span: Span
    name_span: Span
    body: Span
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expression, ...]
    configs: tuple[Config, ...] = ()
    autotuned: bool = False
    heuristics: tuple[str, ...] = ()  # constexpr names that heuristics set
    helpers: tuple[Place, ...] = ()  # jit functions that it calls, transitively
    line: int = 1  # of ``def``, 1-based


@frozen
class Assignment:
    """A statement of a host function that binds a variable which a launch depends on."""

    name: str
    span: Span
    value: Expression


@frozen
class Launch:
    """``kernel[grid](arguments)`` in a host function, or ``kernel.run(...)``/``warmup`` forms.

    ``arguments`` maps the kernel's parameter names (constexpr or not) to what is passed. ``options`` holds num_warps, num_stages
    and so on, when written. ``assignments`` are the host statements that grid and arguments depend on, in source order.
    """

    kernel: Place
    host: Place | None  # None: module level
    span: Span  # from the kernel's name to the closing parenthesis
    call: Span  # the parenthesised arguments, parentheses included
    grid: Expression | None
    arguments: dict[str, Expression]
    options: dict[str, Expression]
    assignments: tuple[Assignment, ...] = ()
    line: int = 1
    form: str = "subscript"  # "run" | "warmup" (compiles only) | "compiled" (``compiled[grid]`` of what warmup returned)


@frozen
class HostFunction:
    """A function that launches a kernel. ``kind``: function, method, static_method, class_method, forward or backward.

    Launches at module level have a host too: kind ``module``, qualname ``<module>``, spanning the file.
    """

    place: Place
    kind: str
    span: Span
    launches: tuple[Launch, ...]


@frozen
class Program:
    """A kernel with everything that one variant of it may edit. ``texts`` maps each path to its text.

    ``handed_on``: (path, line) where the kernel is used other than by a launch on the spot: another kernel calls it, a table holds it, a
    condition chooses it. Then it may be started or inlined where nobody sees it. ``others``: what else of its files its host functions
    launch and no other function of them does, and the helpers of that.
    """

    kernel: Kernel
    helpers: tuple[Kernel, ...]
    hosts: tuple[HostFunction, ...]
    texts: dict[str, str] = field(repr=False)
    handed_on: tuple[tuple[str, int], ...] = ()
    others: tuple[Kernel, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of the kernel itself, in source order."""
        return tuple(x for h in self.hosts for x in h.launches if x.kernel == self.kernel.place)

    @property
    def kernel_names(self) -> frozenset[str]:
        """Qualnames of the kernel, its helpers and others: all of it that runs on the device."""
        return frozenset(k.place.qualname for k in (self.kernel, *self.helpers, *self.others))


@frozen
class Edit:
    """Replace ``span`` of the base text by ``new``."""

    span: Span
    new: str


@frozen
class FilePatch:
    """Edits of one file, sorted, without overlap. ``base`` is the text_hash that they were made for."""

    path: str
    base: str
    edits: tuple[Edit, ...]

    def apply(self, text: str) -> str:
        """The edited text.

        Raises:
            StaleText: ``text`` is not the one that the edits were made for.
        """
        if text_hash(text) != self.base:
            raise StaleText(f"{self.path} has changed since this variant was made: run the optimization again on the new text.")
        out: list[str] = []
        at = 0
        for edit in self.edits:
            out += [text[at : edit.span.start], edit.new]
            at = edit.span.end
        return "".join(out) + text[at:]


@frozen
class Patch:
    """A set of file patches that belong together: one variant. Empty is the original."""

    files: tuple[FilePatch, ...] = ()

    def apply(self, texts: dict[str, str]) -> dict[str, str]:
        """``texts`` with the patched files replaced; other files are passed on.

        Raises:
            StaleText: a text is missing or not the one that the edits were made for.
        """
        out = dict(texts)
        for file in self.files:
            if file.path not in texts:
                raise StaleText(f"{file.path} is gone: the variant edits it. Restore it or run the optimization again.")
            out[file.path] = file.apply(texts[file.path])
        return out
