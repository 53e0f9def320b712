"""What the command line says, as an editor says it: no option is named, and what helps has a name that a client knows a button for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import HardwareError, HistoryError, KernelBandError, SourceError, WorkerError, WorkloadError
from kernelband.lsp.child import Exit
from kernelband.lsp.index import place
from kernelband.lsp.liverun import LiveRun, Request
from kernelband.lsp.remedies import REMEDIES, of_error, said, words
from kernelband.lsp.trust import Trust

ENGINE = Path(__file__).parents[3] / "server" / "kernelband"
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
ONLY_OPTIONS = re.compile(rf"{OPTION.pattern}(?: or {OPTION.pattern})*")  # put into a sentence: those are tested below
#: Of the command line only what an editor starts says something to it: doctor, and what fails in `optimize`, `verify` and `inspect`.
HEARD = ("probes.py", "where.py", "target.py", "capture.py", "inspection.py", "proving.py", "failure.py", "verify.py")


def text_of(node: ast.AST) -> str | None:
    """A string with X for what is put into it; None of what is no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "X" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = text_of(node.left), text_of(node.right)
        return "".join(part or "X" for part in parts) if any(part is not None for part in parts) else None
    return None


def sentences(path: Path) -> Iterator[str]:
    """Strings with more than a word that name an option. Left out is what no editor says: docstrings, the help of options, what is for
    terminals, headers of patches.
    """
    tree = ast.parse(path.read_text())
    passed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and isinstance(node.body[0], ast.Expr):
            passed.add(node.body[0].value)
        if isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "terminal"):
            passed |= set(ast.walk(node.value))
        if isinstance(node, (ast.JoinedStr, ast.BinOp)) and text_of(node):
            passed |= set(ast.walk(node)) - {node}
    for node in ast.walk(tree):
        text = text_of(node) if node not in passed else None
        if text and " " in text.strip() and OPTION.search(text) and not ONLY_OPTIONS.fullmatch(text) and not text.startswith("diff --git"):
            yield text


@cache
def heard() -> list[str]:
    rooms = [p for p in sorted(ENGINE.rglob("*.py")) if p.parent != ENGINE / "cli" or p.name in HEARD]
    named = (p for p in rooms if p.name != "remedies.py" and OPTION.search(p.read_text()))
    return [sentence for path in named for sentence in sentences(path)]


def test_no_sentence_that_an_editor_hears_names_an_option() -> None:
    found = heard()
    assert len(found) > 30  # else they are written in another way now, and this looks at nothing
    assert [words(sentence) for sentence in found if OPTION.search(words(sentence))] == []
    assert [sentence for sentence in found if not said(sentence).remedies and "against" not in sentence] == []


def test_each_remedy_has_a_button() -> None:
    client = ENGINE.parents[1] / "vscode-extension" / "src" / "refusals"
    named = {r for sentence in heard() for r in said(sentence).remedies}
    assert named <= set(REMEDIES)
    buttons = (client / "remedies.ts").read_text()
    assert [r for r in REMEDIES if f'"{r}"' not in buttons] == []


@pytest.mark.parametrize(
    ("error", "message", "remedies"),
    [
        (
            WorkloadError("No test or bench function was found that runs k. Name one with --entry FILE.py::NAME (a test, or a function)."),
            "No test or bench function was found that runs k. Choose one (a test, or a function).",
            ("entry",),
        ),
        (
            WorkloadError("The entry's file a b.py doesn't exist: check --entry a b.py::t."),
            "The entry's file a b.py doesn't exist: choose another one.",
            ("entry",),
        ),
        (WorkloadError("k fails."), "k fails.", ("entry",)),
        (
            WorkerError("There is no program pyton, so the worker's Python can't be started: correct --python."),
            "There is no program pyton, so the worker's Python can't be started: correct the setting kernelband.python.",
            ("python",),
        ),
        (
            WorkerError("ssh x with python3 isn't a Python. Correct --worker or --python."),
            "ssh x with python3 isn't a Python. Correct the setting kernelband.worker or kernelband.python.",
            ("worker", "python"),
        ),
        (HistoryError("h.db is damaged: move it away, or name another file with --db."), None, ("db",)),
        (HardwareError("z900 is no GPU that is known."), "z900 is no GPU that is known.", ("device",)),
        (SourceError("The document changed: try again."), "The document changed: try again.", ()),
        (
            KernelBandError("There is no key for openai.com: set A or B, or give --base-url of a server without keys."),
            None,
            ("model", "key"),
        ),
    ],
)
def test_what_helps_is_read_from_the_sentence_and_its_kind(error: KernelBandError, message: str | None, remedies: tuple[str, ...]) -> None:
    told = of_error(error)
    assert told.remedies == remedies
    if message is not None:
        assert told.message == message
    assert not OPTION.search(told.message)


def test_what_isn_t_trusted_is_to_be_trusted_and_what_is_no_file_saved(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "trust.json")
    assert said(trust.refusal(str(tmp_path))).remedies == ("trust",)
    assert said(trust.refusal(place("untitled:Untitled-1"))).remedies == ("save",)


def test_a_run_that_fails_says_what_helps() -> None:
    def failed(*events: dict[str, object], end: Exit | None = None, last: str = "") -> LiveRun:
        live = LiveRun("0123abcd", Request("file:///k.py", "/k.py", "k"))
        for event in events:
            live.hear(event)
        live.end(end or Exit(5), last)
        return live

    error = {"event": "error", "message": "python3 has no torch: name another with --python.", "detail": "", "exit_code": 5}
    live = failed(error)
    assert live.error == "python3 has no torch: name another in the setting kernelband.python."
    assert live.remedies == ("python",)
    trial = {"event": "trial_ended", "number": 1, "best": 0, "variant": 1, "outcome": "unclear", "score": None}
    assert failed(trial, error).remedies == ("python", "resume")
    assert failed(end=Exit(None, "There is no program x.")).remedies == ("search",)
    assert failed(end=Exit(1)).remedies == ("log",)
    reason = "stopped: `kernelband optimize --resume 0123abcd` continues it"
    ended = failed({"event": "run_ended", "state": "interrupted", "reason": reason, "best": None, "verified": [], "counts": {}})
    assert ended.reason == "stopped: it can be resumed"


def test_options_of_the_user_s_own_program_stay() -> None:
    theirs = "t.py fails: SystemExit: unrecognized arguments: --worker 2 --db x --model y --python --entry a"
    assert of_error(WorkloadError(theirs)).message == theirs


@given(st.text())
def test_what_names_no_option_stays_as_it_is(text: str) -> None:
    if not OPTION.search(text) and "kernelband" not in text and "--" not in text:
        assert words(text) == text
