#!/usr/bin/env python3
"""Record landscapes on a GPU: every move of an example to depth two, compiled and executed, for replay without a GPU.

    python benchmarks/landscape.py EXAMPLE.py ... [--out FOLDER] [--seconds 300] [--depth 2] [--python PYTHON] [--worker CMD] [--dry]

One file for each example: FOLDER/EXAMPLE.json.gz, written every minute and at the end, also after Ctrl-C or SIGTERM; ``complete``:
everything that compiled was timed, too. A worker that is lost is started again once, and the example begins anew. ``--dry`` compiles and
forecasts and executes nothing, for trying it on a machine without a GPU. Exits with 1 when an example failed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
import traceback
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

from recorded import FORMAT, UNMEASURED, save
from survey import Plan, Survey
from surveyed import facts_to_json, nodes_to_json, rounded

from kernelband import __version__
from kernelband.errors import KernelBandError
from kernelband.hardware.forecast import Forecast
from kernelband.history.values import finite
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Task
from kernelband.propose import Author, Rewriter
from kernelband.search import preparation
from kernelband.search.builder import expected
from kernelband.search.events import Event, Noted
from kernelband.search.options import Options
from kernelband.search.programs import Programs
from kernelband.search.start import Setup, StartLab, prepare
from kernelband.search.trial import Trial
from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace, find_program
from kernelband.source.model import Program
from kernelband.strategies import Facts
from kernelband.workload import capture_first, choose_proof

HERE = Path(__file__).resolve().parent
SAVE_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="examples")
    parser.add_argument("--out", type=Path, default=HERE / "landscapes", help="a folder, or FILE.json.gz for one example")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each example, capture and start included")
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--first", type=float, default=0.4, help="at most this share of the seconds is for depth 1")
    parser.add_argument("--best", type=int, default=12, help="so many of the best become parents")
    parser.add_argument("--per-strategy", type=int, default=2, help="and so many of the best of each strategy")
    parser.add_argument("--drawn", type=int, default=4, help="and so many at random")
    parser.add_argument("--ahead", type=int, help="variants with the compilers at once; default: enough to keep all of them busy")
    parser.add_argument("--entry", default="bench")
    parser.add_argument("--gpu", help="with --dry: the GPU to compile for")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--worker", help="a command in front of it, such as 'ssh box'")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry", action="store_true", help="compile and forecast only")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = 0
    for file in given.files:
        out = given.out if given.out.name.endswith(".json.gz") else given.out / f"{file.stem}.json.gz"
        try:
            once_more(file, out, given)
        except KernelBandError as error:
            print(f"{file.name}: {error.message}\n{error.detail}", file=sys.stderr, flush=True)
            failed += 1
        except KeyboardInterrupt:
            print("Stopped: what was recorded is kept.", file=sys.stderr)
            return 130
        except Exception:  # noqa: BLE001 - the next example may go well
            traceback.print_exc()
            failed += 1
    return 1 if failed else 0


def once_more(file: Path, out: Path, given: argparse.Namespace) -> None:
    """A second attempt when the worker was lost."""
    try:
        record(file, out, given)
    except KernelBandError as error:
        if error.kind != "lost":
            raise
        print(f"{file.name}: {error.message} Once more.", file=sys.stderr, flush=True)
        record(file, out, given)


def record(
    file: Path, out: Path, given: argparse.Namespace, *, start_lab: StartLab = WorkerLab.start, author: Author | None = None
) -> Survey:
    """One example into one file."""
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f"{file.stem} {time.monotonic() - begin:5.0f} s: {text}", file=sys.stderr, flush=True)

    def hear(event: Event) -> None:
        if isinstance(event, Noted):
            say(event.text)

    options = Options(
        str(file.resolve()),
        entry=given.entry,
        seconds=given.seconds,
        gpu=given.gpu,
        worker=given.worker,
        python=given.python,
        seed=given.seed,
    )
    setup = prepare(options, Path(tempfile.gettempdir()) / "no such history", hear, resume_run=None, start_lab=start_lab)
    try:
        if not setup.lab.measured and not given.dry:
            sys.exit(
                "Recording needs a real GPU, and the worker's Python sees none: name a machine with --worker 'ssh HOST', or say --dry."
            )
        survey = surveyor(setup, given, begin, say, author)
        done = threading.Event()
        saver = threading.Thread(target=keep_saving, args=(done, out, setup, survey, file), daemon=True)
        saver.start()
        complete = False
        try:
            survey.run()
            complete = given.dry or not any(e.outcome == UNMEASURED for e in survey.entries)
        finally:
            done.set()
            saver.join(SAVE_S)
            save(out, document(setup, survey, file, complete=complete))
            busy = f"the device was busy for {survey.busy_s:.0f} of {survey.seconds:.0f} s"
            say(f"{survey.count()}; {busy}; {out.stat().st_size / 1e3:.0f} kB")
        return survey
    finally:
        setup.lab.close()


def surveyor(setup: Setup, given: argparse.Namespace, begin: float, say: Any, author: Author | None) -> Survey:
    """The same rooms as a run's: capture, baseline, judge, author, forecast."""
    lab, options = setup.lab, setup.options
    captured = capture_first(
        lab.measuring(),
        setup.workspace,
        setup.program,
        setup.choice,
        lock=lab.uuid,
        predicting=not lab.measured,
        sizes=not lab.measured and not setup.choice.named,
    )
    cases = tuple(captured.cases)
    proof = choose_proof(setup.workspace, setup.program, captured.entry, setup.choice.there)  # of what launched the kernel, as a run's
    compiled = preparation.read(lab, setup.program, preparation.forecast_cases(cases, measured=lab.measured))
    cases = tuple(c for c in cases if c["id"] not in compiled.built.late)
    task = Task(cases, options.objective, proof)
    judge = Judge(task, gpu=lab.uuid, device=lab.device, tell=say)
    timing = tuple(c for c in cases if c["role"] == "time")
    about = preparation.forecast_cases(cases, measured=lab.measured)
    base = preparation.take(lab, judge, compiled, options.objective)
    say(
        f"{len(cases)} cases, {len(timing)} timed: "
        + ", ".join(f"{c['arguments']} {base.device_us.get(c['id'], 0):.1f} µs" for c in timing)
    )

    def find(texts: dict[str, str]) -> Program:
        workspace = Workspace.for_file(options.path, texts)
        return find_program(workspace, options.path, setup.program.kernel.place.qualname)

    programs = Programs(setup.program, find, lambda _: (), compiled.built.facts)
    triton = cast("tuple[int, int]", tuple(int(x) for x in lab.environment["triton"].split(".")[:2]))

    def facts(parent: int) -> Facts:
        return Facts(lab.device, cases, tuple(programs.facts(parent).values()), triton, frozenset(options.allowed))

    def rank(candidate: Trial) -> Forecast:
        if lab.measured:
            return expected(lab, compiled.profiler, candidate)
        return compiled.profiler.forecast(candidate.launches, candidate.facts, None)  # the interpreter would take seconds for each

    plan = Plan(
        seconds=given.seconds - (time.monotonic() - begin),
        depth=given.depth,
        first=given.first,
        per_strategy=given.per_strategy,
        best=given.best,
        drawn=given.drawn,
        ahead=given.ahead or lab.builders + 4,
        dry=given.dry,
        seed=given.seed,
    )
    return Survey(lab, judge, author or Rewriter(), programs, about, base, rank, facts, plan, options.objective, say)


def keep_saving(done: threading.Event, out: Path, setup: Setup, survey: Survey, file: Path) -> None:
    """So that a machine that is taken away takes a minute of the work with it."""
    while not done.wait(SAVE_S):
        save(out, document(setup, survey, file, complete=False))


def document(setup: Setup, survey: Survey, file: Path, *, complete: bool) -> dict[str, Any]:
    """The whole file."""
    lab, entries, plan = setup.lab, list(survey.entries), survey.plan
    versions = ("python", "torch", "triton", "cuda", "driver", "ptxas")
    cases = [{k: v for k, v in c.items() if k != "source_hash"} for c in survey.judge.task.cases]
    value = {
        "format": FORMAT,
        "example": file.stem,
        "kernel": setup.program.kernel.place.qualname,
        "device": lab.device.name,
        "gpu": {k: v for k, v in (lab.gpu or {}).items() if k not in ("uuid", "processes")},
        "environment": {k: v for k, v in lab.environment.items() if k in versions},
        "version": __version__,
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "objective": setup.options.objective,
        "measured": lab.measured and not survey.plan.dry,
        "complete": complete,
        "executed": survey.executed,
        "seconds": {"recording": survey.seconds, "device busy": survey.busy_s},
        "plan": {"depth": plan.depth, "best": plan.best, "per_strategy": plan.per_strategy, "drawn": plan.drawn},
        "texts": dict(setup.program.texts),
        "cases": cases,
        "nodes": nodes_to_json(entries),
        "facts": facts_to_json(entries),
    }
    return without_folder(rounded(finite(value)), str(file.resolve().parent) + "/")


def without_folder(value: Any, folder: str) -> Any:
    """Paths as they are seen from the example's folder: a recording names no machine."""
    if isinstance(value, str):
        return value.replace(folder, "")
    if isinstance(value, dict):
        return {without_folder(k, folder): without_folder(v, folder) for k, v in value.items()}
    if isinstance(value, list):
        return [without_folder(v, folder) for v in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
