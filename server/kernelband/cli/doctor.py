"""``kernelband doctor``: what is there, what is missing, and what still works without it."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import sys
from typing import Any

import click
from attrs import asdict, frozen

from kernelband import __version__
from kernelband.cli.output import console
from kernelband.cli.target import db_option, json_option, worker_options
from kernelband.errors import KernelBandError


@frozen
class Check:
    """One thing that was looked at. ``state``: ok, missing or note."""

    name: str
    state: str
    text: str


@click.command()
@worker_options
@db_option
@json_option
def doctor(worker: str | None, python: str | None, db: str | None, as_json: bool) -> int:
    """Say what is there, what is missing, and what still works."""
    checks = [*_engine(), *_worker(worker, python), *_history(db)]
    works = _works(checks)
    if as_json:
        click.echo(json.dumps({"checks": [asdict(c) for c in checks], "works": works}, indent=1))
    else:
        from rich.markup import escape

        out = console()
        color = {"ok": "green", "missing": "red", "note": "yellow"}
        for c in checks:
            out.print(f"[{color[c.state]}]{c.state:8}[/]{escape(c.name):12} {escape(c.text)}", soft_wrap=True)
        out.print("")
        for name, (can, text) in works.items():
            out.print(f"{'works' if can else 'does not work':14} {name}: {escape(text)}", soft_wrap=True)
    return 0 if works["predict"][0] or works["measure"][0] else 1


def _engine() -> list[Check]:
    out = [Check("kernelband", "ok", f"{__version__} on Python {platform.python_version()} ({sys.executable})")]
    missing = [name for name in ("numpy", "sklearn") if importlib.util.find_spec(name) is None]
    if missing:
        out.append(Check("search", "missing", f"{' and '.join(missing)}: pip install 'kernelband[search]'"))
    else:
        out.append(Check("search", "ok", "numpy and scikit-learn are installed"))
    out.append(
        Check("git", "ok", "found") if shutil.which("git") else Check("git", "note", "not found: only used to apply patches by hand")
    )
    return out


def _worker(worker: str | None, python: str | None) -> list[Check]:
    from kernelband.worker import Executor, Worker, WorkerCommand

    name = WorkerCommand.of(worker, python).name

    class NoFiles:
        def find_module(self, name: str) -> None:  # noqa: ARG002 - a FileServer of nothing
            return None

        def blob(self, sha256: str) -> bytes:
            raise KernelBandError(f"No file {sha256} is served here.")

    try:
        with Worker.start(WorkerCommand.of(worker, python), files=NoFiles()) as started:
            hello = started.hello
            out = [Check("worker", "ok", f"Python {hello['python']} ({hello['executable']}) on {hello['host']}, {hello['cpus']} cores")]
            with Executor(started, "doctor", "gpu") as executor:
                return out + _environment(executor.call("environment", {}, 60.0))
    except KernelBandError as error:
        return [Check("worker", "missing", f"{name}: {error.message}")]


def _environment(found: dict[str, Any]) -> list[Check]:
    out = [
        Check("torch", "ok", str(found["torch"])),
        Check("triton", "ok", str(found["triton"])),
        Check("ptxas", "ok", str(found["ptxas"])) if found["ptxas"] else Check("ptxas", "note", "not found"),
    ]
    for name, value in found["settings"].items():
        out.append(Check("setting", "note", f"{name}={value}"))
    for gpu in found["gpus"]:
        busy = f"; in use by {', '.join(gpu['processes'])}" if gpu["processes"] else ""
        out.append(Check("gpu", "ok", f"{gpu['name']}, {gpu['free_bytes'] / 2**30:.0f} GiB free{busy}"))
    if not found["gpus"]:
        out.append(Check("gpu", "note", "none in reach: results are predicted, not measured"))
    return out


def _history(db: str | None) -> list[Check]:
    from kernelband.history import Store, find_place, runs

    try:
        place = find_place(db)
        if not place.path.exists():
            return [Check("history", "note", f"{place.path} does not exist yet")]
        with Store.read(place.path) as store:
            count = len(runs.listing(store, limit=10_000))
        return [Check("history", "ok", f"{place.path}: {count} run{'s' if count != 1 else ''}. {place.note}".rstrip())]
    except KernelBandError as error:
        return [Check("history", "missing", error.message)]


def _works(checks: list[Check]) -> dict[str, tuple[bool, str]]:
    has = {c.name for c in checks if c.state == "ok"}
    run = {"torch", "triton"} <= has
    predict = run and "search" in has
    reason = "needs a Python with torch and Triton (--python) " if not run else "needs pip install 'kernelband[search]' "
    return {
        "read": (True, "kernels, history, show, apply"),
        "inspect": (run, "capture and inspect, for any GPU" if run else "needs a Python with torch and Triton (--python)"),
        "predict": (predict, "optimize without a GPU: predicted" if predict else reason.rstrip()),
        "measure": (
            predict and "gpu" in has,
            "optimize on the GPU" if "gpu" in has and predict else "needs a GPU: --worker 'ssh box' reaches one",
        ),
    }
