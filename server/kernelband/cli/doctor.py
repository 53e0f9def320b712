"""``kernelband doctor``: what is there, what is missing, and what still works without it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from queue import Empty, Queue

import click
from attrs import asdict, evolve, frozen

from kernelband.cli.modelling import model_check
from kernelband.cli.output import console, echo
from kernelband.cli.probes import Check, database, engine, worker
from kernelband.cli.target import db_option, json_option
from kernelband.cli.where import worker_options
from kernelband.worker import WorkerCommand

LIMIT_S = 45.0  # for all probes together
Probe = Callable[[], list[Check]]
_COLOR = {"ok": "green", "missing": "red", "note": "yellow"}


@frozen
class Ability:
    """Something that a person wants to do, and whether it works here."""

    name: str
    works: bool
    text: str


@click.command()
@worker_options
@db_option
@click.option("--anonymous", is_flag=True, help="Leave out paths, user and host names, so that the output can be shared.")
@json_option
@click.option("--json-lines", "as_line", is_flag=True, help="Print the same JSON as one line, an event.")
def doctor(*, worker: str | None, python: str | None, db: str | None, anonymous: bool, as_json: bool, as_line: bool) -> int:
    """Report what is installed, what is missing, and what works.

    Exits with 0 when at least predicted optimization works, else with 1.
    """
    command = WorkerCommand.of(worker, python)
    checks = look(
        {"kernelband": engine, "worker": lambda: _worker(command), "model": model_check, "history": lambda: database(db)}, LIMIT_S
    )
    able = abilities(checks)
    if anonymous:
        checks = shareable(checks, worker)
    told = {"checks": [asdict(c) for c in checks], "works": {a.name: a.works for a in able}}
    if as_line:
        echo(json.dumps({"event": "checked", **told}))
    elif as_json:
        echo(json.dumps(told, indent=1))
    else:
        _print(checks, able)
    return 0 if next(a for a in able if a.name == "predict").works else 1


def shareable(checks: list[Check], worker_command: str | None) -> list[Check]:
    """The same findings without what says whose they are."""
    from kernelband.cli.anonymous import of_this_machine, without

    private = of_this_machine(worker_command)
    return [evolve(c, found=without(c.found, private), means=without(c.means, private)) for c in checks]


def _worker(command: WorkerCommand) -> list[Check]:
    return worker(command)


def look(probes: dict[str, Probe], limit_s: float) -> list[Check]:
    """All probes at once, in order; one that isn't back in time, or that fails, is said and left."""
    queues: dict[str, Queue[list[Check]]] = {name: Queue() for name in probes}

    def run(name: str) -> None:
        try:
            queues[name].put(probes[name]())
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a machine, doctor tells of the rest
            text = next(iter(str(error).splitlines()), "no message")
            queues[name].put([Check(name, "missing", f"could not be checked: {type(error).__name__}: {text}", "Please report this.")])

    for name in probes:
        threading.Thread(target=run, args=(name,), name=f"doctor {name}", daemon=True).start()
    end = time.monotonic() + limit_s
    return [check for name, queue in queues.items() for check in _until(end, name, queue, limit_s)]


def _until(end: float, name: str, queue: Queue[list[Check]], limit_s: float) -> list[Check]:
    try:
        return queue.get(timeout=max(0.0, end - time.monotonic()))
    except Empty:
        return [Check(name, "missing", f"no answer within {limit_s:g} s", "It can't be used until it answers.")]


def abilities(checks: list[Check]) -> list[Ability]:
    """What works with what was found."""
    states = {name: {c.state for c in checks if c.name == name} for name in {c.name for c in checks}}
    lost = {name for name, has in states.items() if "missing" in has}
    run = {"torch", "triton"} <= set(states) and not lost & {"worker", "torch", "triton", "versions"}
    gpu = "ok" in states.get("gpu 0", set())
    wants: list[str] = []
    if not run:
        wants.append("a Python with torch and Triton (--python)")
    if "search" in lost:
        wants.append("pip install 'kernelband[search]'")
    if "history" in lost:
        wants.append("a usable database (--db)")
    predict = not wants
    measure = predict and gpu and "compiler" not in lost
    on_gpu = [*wants, *([] if gpu else ["a GPU (--worker 'ssh box' reaches one)"]), *(["a C compiler"] if "compiler" in lost else [])]
    looking = "capture, and inspect for any GPU" if run else "needs a Python with torch and Triton (--python)"
    return [
        Ability("read", True, "kernels"),
        Ability("history", "history" not in lost, "history, show, apply" if "history" not in lost else "needs a usable database (--db)"),
        Ability("inspect", run, looking),
        Ability("predict", predict, "optimize, checked by the interpreter and predicted" if predict else _needs(wants)),
        Ability("measure", measure, "optimize, checked and measured on the GPU" if measure else _needs(on_gpu)),
    ]


def _needs(wants: list[str]) -> str:
    return "needs " + " and ".join(wants)


def _print(checks: list[Check], able: list[Ability]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=None, pad_edge=False, show_header=False)
    for ratio in (None, None, 3, 2):
        table.add_column(ratio=ratio, overflow="fold")
    for c in checks:
        table.add_row(Text(c.state, style=_COLOR[c.state]), Text(c.name), Text(c.found), Text(c.means, style="dim"))
    out.print(table)
    out.print()
    for a in able:
        word = Text("works        ", style="green") if a.works else Text("doesn't work ", style="red")
        out.print(Text.assemble(word, f" {a.name:8} ", a.text), soft_wrap=True)
