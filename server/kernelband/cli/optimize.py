"""``kernelband optimize``: one search, live in the terminal or as JSON lines."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from kernelband.cli.failure import INTERRUPTED
from kernelband.cli.modelling import model_options, settings
from kernelband.cli.output import echo
from kernelband.cli.proving import proof_option, require_place, write_proof
from kernelband.cli.target import Target, db_option, find_run, parse_overlays, repository
from kernelband.cli.where import device_options
from kernelband.errors import SourceError, UsageError
from kernelband.history import Store, find_place

if TYPE_CHECKING:
    from kernelband.search.events import Event, RunEnded

NEEDS = ("numpy", "sklearn")


@click.command()
@click.argument("target", metavar="FILE[::KERNEL]", required=False)
@click.option("--trials", type=int, help="Maximum number of variants that are executed.")
@click.option(
    "--seconds",
    type=float,
    help="Seconds for search and final verification, from the first trial on. Default: 60, or no limit with --trials.",
)
@click.option("--entry", metavar="E", help="The entry, which runs the kernel: NAME, FILE.py::NAME, a pytest node, or __main__.")
@device_options("The GPU to predict for when none is available.")
@click.option(
    "--policy",
    default="kernelband",
    show_default=True,
    metavar="P",
    help="Policy that chooses what to try: kernelband, paper, paper-v1, random, greedy.",
)
@click.option("--objective", metavar="device|call", help="Which time to reduce: device or call. Default: device.")
@click.option("--allow-lower-precision", is_flag=True, help="Also try edits that lower precision (tf32, narrower accumulators).")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same choices.")
@model_options
@proof_option
@db_option
@click.option("--resume", metavar="RUN", help="Continue an interrupted run.")
@click.option("--overlay", "overlays", multiple=True, metavar="FILE=PATH", help="Use the text of PATH for FILE (an unsaved buffer).")
@click.option("--run-id", metavar="ID", hidden=True, help="The id of the new run, for a front end that must know it beforehand.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each event.")
def optimize(target: str | None, db: str | None, resume: str | None, overlays: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Search for faster variants of a kernel and verify the best in fresh processes.

    Without a GPU everything is predicted: candidates with the fact behind each, never a ratio or a time.
    Ctrl-C stops the run and keeps what was found; --resume continues it.
    """
    begun = time.monotonic()
    run_id = given["run_id"]
    require_new_id(run_id, resume)
    require_place(given["proof"])
    place = find_place(db)
    if resume is not None:
        with Store.read(place.path) as store:
            resume = find_run(store, resume).id
    options = _options(target, resume, overlays, given, place.path)
    view = view_of(as_json)
    if place.note:
        echo(place.note, err=True)
    from kernelband.search.run import optimize as search

    with view, interruptible():
        ended = search(options, place.path, view.hear, resume_run=resume, run_id=run_id, begun=begun)
    view.finish(ended, place.path)
    write_proof(place.path, ended, given["proof"])
    return INTERRUPTED if ended.state == "interrupted" else 0


def _options(target: str | None, resume: str | None, overlays: tuple[str, ...], given: dict[str, Any], path: Any) -> Any:
    """What is asked, checked as far as possible before anything is imported or started."""
    trials, seconds = given["trials"], given["seconds"]
    if trials is not None and trials < 1:
        raise UsageError(f"A budget of {trials} trials allows nothing to be tried: give --trials 1 or more.")
    if seconds is not None and not seconds > 0:
        raise UsageError(f"A budget of {seconds:g} seconds allows nothing to be tried: give --seconds more than 0.")
    if target is None and resume is None:
        raise UsageError("No file is named: kernelband optimize FILE, FILE::KERNEL, or --resume RUN.")
    require_search()
    if resume is not None:
        return _resumed(target, resume, path, given)
    from kernelband.search.options import Options

    assert target is not None
    named = Target.parse(target)
    texts = parse_overlays(overlays)
    if named.path not in texts and not os.path.exists(named.path):
        raise SourceError(f"There is no file {target.partition('::')[0]}: check the name and the folder that you are in.")
    if given["gpu"] is not None:
        from kernelband.hardware import find_device

        find_device(given["gpu"])  # an unknown name is said before anything starts
    given = with_repository(given, named.path)
    allowed = ("exact", "reassociates", "lowers_precision") if given["allow_lower_precision"] else ("exact", "reassociates")
    keys = ("entry", "trials", "seconds", "gpu", "worker", "python", "policy", "objective", "seed")
    author = given["author"] or "rewriter"
    chosen = Options(named.path, named.kernel, allowed=allowed, overlays=texts, author=author, **{k: given[k] for k in keys})
    if author == "rewriter":
        if given["model"] and not os.environ.get("KERNELBAND_MODEL"):
            raise UsageError("--model alone changes nothing: say who writes variants, with --author model or --author both.")
        return chosen
    return evolve(chosen, model=settings(given))


def with_repository(given: dict[str, Any], path: str) -> dict[str, Any]:
    """What isn't given is as the repository says, as far as it may. A budget that is given stands alone."""
    said = repository(path)
    out = {
        **given,
        "entry": given["entry"] or said.entry,
        "objective": given["objective"] or said.objective or "device",
        "allow_lower_precision": given["allow_lower_precision"] or said.allow_lower_precision,
    }
    if given.get("trials") is None and given.get("seconds") is None:
        out |= {"trials": said.trials, "seconds": said.seconds}
    return out


def require_new_id(run_id: str | None, resume: str | None = None) -> None:
    """Refuse what can't be the id of a new run."""
    if run_id is not None and (resume is not None or re.fullmatch("[0-9a-f]{8}", run_id) is None):
        raise UsageError(f"--run-id {run_id} can't be used: give a new run an id of 8 hexadecimal digits, and a resumed one none.")


def require_search() -> None:
    """Refuse a Python without the packages of the search."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"Searching needs {' and '.join(missing)}, which this Python lacks: pip install 'kernelband[search]'.")


def _resumed(target: str | None, resume: str, path: Any, given: dict[str, Any]) -> Any:
    """The options of the run, with more budget, or another way to the same worker, where that is given now."""
    from kernelband.search.resume import options_of

    options = options_of(path, resume)
    if target is not None and Target.parse(target).path != options.path:
        raise UsageError(f"Run {resume} is about {options.path}, not {target}: leave the file out, or start a new run.")
    changed = {k: given[k] for k in ("trials", "seconds", "worker", "python") if given[k] is not None}
    if given["author"] is not None:
        changed["author"] = given["author"]
    resumed = evolve(options, **changed)
    return resumed if resumed.author == "rewriter" else evolve(resumed, model=settings(given, resumed.model))


def view_of(as_json: bool) -> Any:
    """What shows a run: the terminal's view, or JSON lines."""
    if as_json:
        return JsonLines()
    from kernelband.cli.live import Live

    return Live()


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """Ctrl-C and SIGTERM stop the run and keep everything; a second one exits at once."""
    seen = False

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        nonlocal seen
        if seen:
            os._exit(INTERRUPTED)
        seen = True
        print("Stopping: what was found is kept. Interrupt again to exit at once.", file=sys.stderr, flush=True)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class JsonLines:
    """One object a line, flushed at once, whole lines also when several threads speak."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def hear(self, event: Event) -> None:
        """Print it."""
        text = json.dumps(event.to_json(), ensure_ascii=False, default=str)
        with self._lock:
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")  # JSON is UTF-8, whatever the terminal's encoding is
            sys.stdout.flush()

    def finish(self, ended: RunEnded, db: Path) -> None:
        """The last event has said it."""
