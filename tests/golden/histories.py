"""Histories of one kernel, and what may have become of its text since. Figures are written down by hand: nothing was timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from kernelband.history import Store, runs, trials
from kernelband.history.records import GIVEN, DecisionRow, FinalRow, TrialRow, VariantRow, to_row
from kernelband.source import between, form, patch_to_json, program_in
from tests.unit.history.rows import run_row, trial_row, variant_row

KERNEL = "scale_kernel"
TEXT = '''import torch
import triton
import triton.language as tl

WARPS = 4


@triton.jit
def twice(a):
    return a + a


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    """Twice each element."""
    # each program scales one block
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, twice(tl.load(x + i, mask=i < n)), mask=i < n)


def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    # one program for each block
    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64, num_warps=WARPS)
    return y


def bench_scale():
    scale(torch.randn(4096, device="cuda"))
'''
CUT = "\n\ndef scale(x)"
KERNEL_FILE, HOST_FILE = TEXT[: TEXT.index(CUT)], TEXT[TEXT.index(CUT) + 2 :]
HOST_HEAD = "import torch\nimport triton\n\nfrom {module} import scale_kernel\n\nWARPS = 4\n\n\n"

Edit = tuple[str, str]
BLOCK: Edit = ("(n, 64),)](x, y, n, BLOCK=64", "(n, 512),)](x, y, n, BLOCK=512")
LOAD: Edit = (
    "    tl.store(y + i, twice(tl.load(x + i, mask=i < n)), mask=i < n)",
    "    a = tl.load(x + i, mask=i < n)\n    tl.store(y + i, twice(a), mask=i < n)",
)
WARPS: Edit = ("num_warps=WARPS", "num_warps=1")
MINE: Edit = ("twice(tl.load", "2.0 * (tl.load")


def edited(text: str, *edits: Edit) -> str:
    """The text with each edit made once."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


@frozen
class Made:
    """A variant: the edits that lead to it from the original, the one that it was made from, and what came of it."""

    edits: tuple[Edit, ...]
    what: str
    parent: int = 0
    ratio: tuple[float, float, float] | None = None  # of its final
    tier: str = ""
    decision: str = ""


@frozen
class Ran:
    """One run; ``at``: seconds after the first one."""

    variants: tuple[Made, ...] = ()
    mode: str = "measured"
    state: str = "finished"
    policy: str = "kernelband"
    at: float = 0.0
    best: int | None = None


STEP = Made((BLOCK,), "BLOCK 64 → 512.")
CHAIN = Made((BLOCK, LOAD), "The load has a name.", parent=1, ratio=(1.84, 1.8, 1.88))
SIDE = Made((WARPS,), "1 warp for each program.", ratio=(1.21, 1.17, 1.25))
SEARCHED = Ran((STEP, CHAIN, SIDE), best=2)
PREDICTED = Ran(
    (evolve(STEP, tier="likely faster"), evolve(CHAIN, tier="likely faster", ratio=None), evolve(SIDE, tier="unclear", ratio=None)),
    mode="predicted",
    best=2,
)
HISTORIES: Mapping[str, tuple[Ran, ...]] = {
    "verified": (SEARCHED,),
    "predicted": (PREDICTED,),
    "rejected": (evolve(SEARCHED, variants=(STEP, evolve(CHAIN, decision="reject"), SIDE)),),
    "accepted": (evolve(SEARCHED, variants=(STEP, evolve(CHAIN, decision="accept"), SIDE)),),
    "interrupted": (Ran((STEP,), state="interrupted"),),
    "failed": (Ran(state="failed"),),
    "then_predicted": (SEARCHED, evolve(PREDICTED, at=60.0)),
    "then_empty": (SEARCHED, Ran(at=60.0)),
    "then_predicted_empty": (SEARCHED, Ran(mode="predicted", at=60.0)),
    "judged": (Ran((evolve(CHAIN, parent=0, what="your edit"),), policy=GIVEN),),
}
CREATED = 1_790_000_000.0


def write(db: Path, name: str, ran: Sequence[Ran], texts: Mapping[str, str]) -> None:
    """The runs of a history of the kernel in the first of the texts."""
    (path, *_) = texts
    db.parent.mkdir(parents=True, exist_ok=True)
    with Store.write(db) as store:
        for position, run in enumerate(ran):
            _write(store, f"{name}{position}", run, path, texts)


def _write(store: Store, run: str, ran: Ran, path: str, texts: Mapping[str, str]) -> None:
    device = "NVIDIA H200 SXM" if ran.mode == "measured" else "NVIDIA H100 SXM"
    gpus = {"triton": "3.6.0", "torch": "2.9", "gpus": [{"name": device}] if ran.mode == "measured" else []}
    row = run_row(run, path=path, kernel=KERNEL, device=device, mode=ran.mode, state=ran.state, policy=ran.policy)
    summary = {} if ran.best is None else {"best": ran.best}
    runs.begin(store, evolve(row, environment=gpus, created=CREATED + ran.at, heartbeat=CREATED + ran.at, summary=summary), dict(texts))
    made = tuple(_rows(run, ran, texts))
    trials.write(
        store,
        trials.Rows(
            variants=(evolve(variant_row(run, 0), parent=None, patch=[], what="the original", form=_form(texts)), *(v for v, _, _ in made)),
            trials=tuple(t for _, t, _ in made),
            finals=tuple(f for _, _, f in made if f is not None),
        ),
    )
    with store.transaction() as base:
        for number, variant in enumerate(ran.variants, 1):
            if variant.decision:
                base.insert("decisions", to_row(DecisionRow(run, number, variant.decision, CREATED + 10, "someone")))


def _form(texts: Mapping[str, str]) -> str:
    """As a search writes it down."""
    return form(program_in(texts, next(iter(texts)), KERNEL))


def _rows(run: str, ran: Ran, texts: Mapping[str, str]) -> Iterator[tuple[VariantRow, TrialRow, FinalRow | None]]:
    for number, made in enumerate(ran.variants, 1):
        after = {path: edited(text, *(e for e in made.edits if e[0] in text)) for path, text in texts.items()}
        row = evolve(
            variant_row(run, number),
            parent=made.parent,
            patch=patch_to_json(between(texts, after)),
            what=made.what,
            form=_form(after),
            key=f"k{number}",
            identity=f"i{number}",
            forecast={"tier": made.tier, "fact": "fewer programs", "gains": [], "costs": []} if made.tier else {},
        )
        trial = evolve(trial_row(run, number), score=1.0 + number / 10)
        if ran.mode == "predicted":
            trial = evolve(trial, correctness="interpreted", score=None, low=None, high=None)
        cases = {"cases": [{"case": "1"}, {"case": "2"}]}
        yield row, trial, FinalRow(run, number, True, *made.ratio, cases, seconds=1.0) if made.ratio is not None else None


# ---------------------------------------------------------------- what has become of the text


@frozen
class Changed:
    """What the editor has: ``text`` of the original's; ``name``: in which file, where another; ``gone``: the first file is no more."""

    text: Callable[[str], str] = field(default=lambda text: text)
    name: str = ""
    gone: bool = False
    notebook: bool = False


def _reformatted(text: str) -> str:
    """As a formatter might."""
    text = text.replace("(x, y, n, BLOCK", "(\n        x,\n        y,\n        n,\n        BLOCK").replace("y + i, twice", "y+i, twice")
    return text.replace('"""Twice each element."""', '"""\n    Twice each element.\n    """')


def _in(text: str) -> str:
    return edited(text, *(e for e in (BLOCK, LOAD) if e[0] in text))


CHANGES: Mapping[str, Changed] = {
    "same": Changed(),
    "shifted": Changed(lambda t: f"# mine\n\n{t}\n# and here\n"),
    "commented": Changed(lambda t: t.replace("# each program scales one block", "# each program scales a block")),
    "formatted": Changed(_reformatted),
    "crlf": Changed(lambda t: t.replace("\n", "\r\n")),
    "renamed": Changed(name="renamed.py", gone=True),
    "copied": Changed(name="copied.py"),
    "helper": Changed(lambda t: t.replace("return a + a", "return 2.0 * a")),
    "global": Changed(lambda t: t.replace("WARPS = 4", "WARPS = 8")),
    "typed": Changed(lambda t: t.replace(*MINE)),
    "in": Changed(_in),
    "in_formatted": Changed(lambda t: _reformatted(_in(t))),
    "in_copied": Changed(_in, name="copied.py"),
    "step_in": Changed(lambda t: t.replace(*BLOCK)),
    "notebook": Changed(notebook=True),
    "notebook_in": Changed(_in, notebook=True),
}
