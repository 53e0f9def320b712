"""``kernelband entry FILE[::KERNEL]``: a bench function for a kernel that no test shows at work, drafted, looked at, then written."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence

import click

from kernelband.cli.rewriting import write_in_place
from kernelband.cli.target import Target, json_option, open_workspace
from kernelband.errors import SourceError, UsageError, WorkloadError
from kernelband.source import Workspace, find_program, require_parsable
from kernelband.source.model import Program
from kernelband.workload import choose_entry
from kernelband.workload.draft import Draft, draft_entry

OPENING, CLOSING = "([{", ")]}"


@click.command()
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option("--yes", is_flag=True, help="Write it with what is guessed, without asking.")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="Say what is guessed else: a size, dtype, or an argument.")
@click.option("--out", metavar="PATH", help="The new file. Default: bench_MODULE.py beside the function's.")
@json_option
def entry(target: str, *, yes: bool, given: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Draft a function that calls the kernel's host function with tensors of your sizes, so that `optimize` has something to run.

    Everything is read from text: annotations, asserts, docstrings, calls, and how the kernel indexes. What that doesn't say is guessed,
    and marked. Nothing is run, and nothing is written before you have seen it.
    """
    found = Target.parse(target)
    workspace = open_workspace(found)
    require_parsable(workspace.read(found.path), found.path)
    program = find_program(workspace, found.path, found.kernel)
    answers = dict(_pair(item) for item in given)
    draft = draft_entry(workspace, program, answers, out=out)
    _require_free(draft)
    if not as_json:
        _show(draft, program)
        there = _there(workspace, program)
        if there:
            click.echo(f"Without it, `kernelband optimize` would try {there}.", err=True)
    asking = not yes and not as_json and can_ask()
    if asking:
        draft, yes = _ask(workspace, program, draft, answers, out)
    if yes:
        _write(workspace, draft)
    following = _next(target, found, draft) if yes else ""
    if as_json:
        click.echo(json.dumps(_as_dict(draft, written=yes, following=following), indent=1))
    elif yes:
        click.echo(f"Wrote {'the end of ' if draft.appended else ''}{os.path.relpath(draft.path)}. Next: {following}", err=True)
    else:
        why = "." if asking else ": there is no terminal to ask on. --yes writes it, --set NAME=VALUE says what is guessed else."
        click.echo(f"Nothing was written{why}", err=True)


def can_ask() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty()


def _pair(item: str) -> tuple[str, str]:
    name, sign, value = item.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise UsageError(f"{item!r} is not of the form NAME=VALUE: say a name that the draft has, and what it shall be.")
    return name.strip(), value.strip()


def _require_free(draft: Draft) -> None:
    if not draft.appended and os.path.lexists(draft.path):
        where = os.path.relpath(draft.path)
        other = f"{os.path.splitext(where)[0]}_{draft.entry.removeprefix('bench_')}.py"
        raise UsageError(f"{where} is there already and stays as it is: name another file, as with --out {shlex.quote(other)}.")


def _there(workspace: Workspace, program: Program) -> str:
    try:
        found = choose_entry(workspace, program, None)
    except WorkloadError:  # as it should be
        return ""
    return f"{found['name']} ({os.path.relpath(found['path'])})" if found["kind"] != "script" else ""


def _show(draft: Draft, program: Program) -> None:
    """The draft on stdout, words about it on stderr."""
    where = os.path.relpath(draft.path)
    click.echo(f"For the end of {where}:" if draft.appended else f"For {where}:", err=True)
    click.echo(draft.text.strip("\n"))
    if draft.others:
        launch = "launch" if len(draft.others) > 1 else "launches"
        also = f"{', '.join(draft.others)} {launch} {program.kernel.place.name}, too"
        click.echo(f"It calls {draft.called}; {also}.", err=True)
    for guess in draft.guesses:
        click.echo(f"  {guess.name} = {guess.value}  ({guess.why})", err=True)


def _ask(workspace: Workspace, program: Program, draft: Draft, answers: Mapping[str, str], out: str | None) -> tuple[Draft, bool]:
    """The draft with what the person says, and whether it is to be written."""
    if not draft.guesses:
        return draft, click.confirm("Write it?", default=True, err=True)
    names = [g.name for g in draft.guesses]
    while True:
        question = f"Enter writes it so; {names[0]}=VALUE changes that, several with spaces between; q writes nothing"
        said: str = click.prompt(question, default="", show_default=False, err=True)
        if said.strip().lower() in ("q", "n", "no", "quit"):
            return draft, False
        if not said.strip():
            return draft, True
        try:
            changed = draft_entry(workspace, program, {**answers, **split_answers(said)}, out=out)
        except UsageError as error:
            click.echo(error.message, err=True)
            continue
        _show(changed, program)
        return changed, click.confirm("Write it?", default=True, err=True)


def split_answers(said: str) -> dict[str, str]:
    """``M=4096 x=torch.ones(4, dtype=torch.half)`` by name.

    Raises:
        UsageError: not of that form.
    """
    depth, starts = 0, [0]
    for at, char in enumerate(said):
        depth += (char in OPENING) - (char in CLOSING)
        if depth == 0 and char in " ,\t" and re.match(r"[ ,\t]\s*\w+\s*=(?!=)", said[at:]):
            starts.append(at)
    pieces = [said[a:b].strip(" ,\t") for a, b in zip(starts, [*starts[1:], len(said)], strict=True)]
    return dict(_pair(piece) for piece in pieces if piece)


# ------------------------------------------------------------ writing


def _write(workspace: Workspace, draft: Draft) -> None:
    """Raises:
    SourceError: it can't be written; nothing is there then that wasn't before.
    UsageError: the file has come in the meantime.
    """
    if draft.appended:
        text = workspace.read(draft.path)
        end = "\r\n" if "\r\n" in text else "\n"
        whole = text.rstrip() + end + draft.text.replace("\n", end)
        write_in_place({draft.path: workspace.encode(draft.path, whole)}, "or write the entry into another file yourself")
        return
    try:
        with open(draft.path, "x", encoding="utf-8", newline="\n") as file:
            file.write(draft.text)
    except FileExistsError:
        _require_free(draft)
    except OSError as error:
        raise SourceError(f"{draft.path} can't be written: {error.strerror}.") from error


def _next(target: str, found: Target, draft: Draft) -> str:
    """The command that takes the entry: by itself, where no other one comes first."""
    workspace = Workspace.for_file(found.path)
    command = f"kernelband optimize {shlex.quote(target)}"
    try:
        taken = choose_entry(workspace, find_program(workspace, found.path, found.kernel), None)
    except WorkloadError:  # a file that the workspace doesn't look at
        taken = None
    if taken is not None and (taken["path"], taken["name"]) == (draft.path, draft.entry):
        return command
    return f"{command} --entry {shlex.quote(f'{os.path.relpath(draft.path)}::{draft.entry}')}"


def _as_dict(draft: Draft, *, written: bool, following: str) -> dict[str, object]:
    guesses: Sequence[dict[str, str]] = [{"name": g.name, "value": g.value, "why": g.why} for g in draft.guesses]
    return {
        "path": draft.path,
        "text": draft.text,
        "appended": draft.appended,
        "entry": draft.entry,
        "called": draft.called,
        "others": list(draft.others),
        "guesses": guesses,
        "written": written,
        "next": following,
    }
