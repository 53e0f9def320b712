"""The command lines that make a run again, show what it found and take it: from the run's row, quoted for a POSIX shell."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any, cast

from attrs import fields_dict, frozen

from kernelband.history.records import BEFORE, SAVED, RunRow
from kernelband.propose import ModelSettings
from kernelband.source import is_notebook

HIDDEN = "\u2026"  # stands for a secret in a worker's command (search/options.py)
MODEL = {
    "base_url": "--base-url",
    "calls": "--model-calls",
    "tokens": "--model-tokens",
    "answer_tokens": "--model-answer-tokens",
    "dollars": "--model-dollars",
    "timeout_s": "--model-timeout",
}


@frozen
class Again:
    """``arguments`` of ``kernelband`` for the same search; ``notes``: sentences about what may make it another one."""

    arguments: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """One line for a shell."""
        return shlex.join(["kernelband", *self.arguments])


def again(run: RunRow, base: Mapping[str, str], now: Mapping[str, str | None], db: str | None = None) -> Again:
    """The search of that run, or the judgement of an edit.

    Args:
        run: its row.
        base: the texts that it started from, by path.
        now: what the same files say now; None for one that is gone.
        db: the database, where that isn't the default one.
    """
    asked = run.options
    entry = _entry(asked.get("entry"), base)
    if asked.get("against"):
        return _verify(run, entry, db)
    out = ["optimize", f"{run.path}::{run.kernel}"]
    given: dict[str, Any] = {"--trials": run.trials_budget, "--seconds": run.seconds_budget, "--entry": entry}
    given |= {f"--{k}": asked.get(k) for k in ("gpu", "worker", "python")}
    given |= {"--policy": run.policy, "--objective": run.objective, "--seed": run.seed}
    out += _flags(given)
    if "lowers_precision" in (asked.get("allowed") or ()):
        out.append("--allow-lower-precision")
    if asked.get("author", "rewriter") != "rewriter":
        out += ["--author", str(asked["author"]), *_model(asked.get("model"))]
    return Again((*out, *_flags({"--db": db})), _notes(run, base, now, entry))


def _verify(run: RunRow, entry: str | None, db: str | None) -> Again:
    """Of a run that judged one edit. What that edit was is in the history, not in the command."""
    asked = run.options
    named = None if asked["against"] in (SAVED, BEFORE) else asked["against"]
    given: dict[str, Any] = {"--against": named, "--entry": entry} | {f"--{k}": asked.get(k) for k in ("gpu", "worker", "python")}
    out = ["verify", f"{run.path}::{run.kernel}", *_flags(given | {"--objective": run.objective, "--seed": run.seed})]
    if "lowers_precision" in (asked.get("allowed") or ()):
        out.append("--allow-lower-precision")
    notes = [f"This judges the current text: what run {run.id} judged is its variant 1."]
    if asked["against"] == BEFORE:
        notes.append("The original was an editor's unsaved text, which that run has kept; here it is the saved file, or HEAD.")
    return Again((*out, *_flags({"--db": db})), tuple(notes))


def of_variant(run: str, number: int, db: str | None = None) -> tuple[str, ...]:
    """What shows a variant and what prints its patch."""
    named = f"{run}/{number}"
    where = _flags({"--db": db})
    return tuple(shlex.join(["kernelband", *words, *where]) for words in (["show", named], ["apply", named, "--diff"]))


def _flags(given: Mapping[str, Any]) -> list[str]:
    """Those that have a value. One that begins with a dash must not look like an option."""
    out: list[str] = []
    for name, value in given.items():
        if value is not None:
            text = f"{value:g}" if isinstance(value, float) and value == float(f"{value:g}") else str(value)
            out += [f"{name}={text}"] if text.startswith("-") else [name, text]
    return out


def _model(asked: object) -> list[str]:
    """What differs from the defaults. The log isn't kept a second time."""
    model = ModelSettings.from_json(cast("dict[str, Any]", asked)) if isinstance(asked, dict) else None
    if model is None:
        return []
    usual = {name: a.default for name, a in fields_dict(ModelSettings).items()}
    told: dict[str, Any] = {"--model": model.name}
    told |= {flag: getattr(model, name) for name, flag in MODEL.items() if name == "base_url" or getattr(model, name) != usual[name]}
    told["--model-price"] = ",".join(map(repr, model.price)) if model.price is not None else None
    return [*_flags(told), *([] if model.stream else ["--model-no-stream"])]


def _entry(entry: str | None, base: Mapping[str, str]) -> str | None:
    """With the whole path of its file where that is one of the run's: it was named from a folder that isn't known any more."""
    file, colons, name = (entry or "").partition("::")
    if not _is_named_from_somewhere(file):
        return entry
    found = [p for p in base if PurePath(p).parts[-len(PurePath(file).parts) :] == PurePath(file).parts]
    return found[0] + colons + name if len(found) == 1 else entry


def _is_named_from_somewhere(file: str) -> bool:
    """Whether what stands before ``::`` in an entry is a file's name and not its whole path."""
    return (file.endswith(".py") or is_notebook(file)) and not PurePath(file).is_absolute()


def _notes(run: RunRow, base: Mapping[str, str], now: Mapping[str, str | None], entry: str | None) -> tuple[str, ...]:
    overlaid: Collection[str] = run.options.get("overlaid") or ()
    out: list[str] = []
    for path in sorted(base):
        if now.get(path) is None:
            out.append(f"{path} is gone since run {run.id}.")
        elif now[path] != base[path]:
            why = "the run had the text of an unsaved buffer" if path in overlaid else f"it has changed since run {run.id}"
            out.append(f"{path} doesn't have the text that it had then ({why}): this searches the current text.")
    file = (entry or "").partition("::")[0]
    if _is_named_from_somewhere(file):
        out.append(f"The entry's file {file} is relative to a folder that isn't known: start in that folder.")
    if HIDDEN in str(run.options.get("worker") or ""):
        out.append(f"A secret in the worker's command is shown as {HIDDEN}: replace it by the secret.")
    if run.options.get("author", "rewriter") != "rewriter":
        out.append("A model doesn't give the same answer twice, so its variants may differ.")
    if run.seconds_budget is not None:
        out.append("The budget is in seconds, so how far the search gets depends on the machine.")
    return tuple(out)
