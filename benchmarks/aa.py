#!/usr/bin/env python3
"""A/A: each example against itself under the default protocol. What this calls faster, the product would call faster by mistake.

    python benchmarks/aa.py [--python PYTHON] [--worker CMD] [--repeats N] [--json OUT] [EXAMPLE.py ...]

Every example's ``bench`` is captured; the original is then timed against itself in fresh processes, once as the baseline and N times as if
it were a variant: in half of them really as one, a file with one more comment line, loaded and compiled as variants are. Prints a Markdown
table with device, versions and date; exits with 1 when anything is called faster or slower.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from attrs import asdict
from targets import examples, label

from kernelband.cli.target import Target
from kernelband.errors import KernelBandError
from kernelband.judge import Candidate, FinalReport, Judge, Measurement, Settings, Task, final
from kernelband.judge.comparison import counted
from kernelband.judge.protocol import Quantity
from kernelband.judge.statistics import log_ratio, of_processes
from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace, find_program
from kernelband.workload import capture_cases, choose_entry


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="FILE or FILE::KERNEL; default: every kernel of the examples")
    parser.add_argument("--entry", default="bench", help="the callable of each file that is captured")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--worker", help="a command in front of it, such as 'ssh box'")
    parser.add_argument("--repeats", type=int, default=2, help="how often the original plays a variant; an even number")
    parser.add_argument("--json", type=Path, help="also write every pair to this file")
    options = parser.parse_args()
    files = options.files or examples()
    rows: list[list[str]] = []
    pairs: dict[str, Any] = {}
    mistakes = 0
    header = ""
    for file in files:
        start = time.monotonic()
        target = Target.parse(str(file))
        workspace = Workspace.for_file(target.path)
        lab = WorkerLab.start(workspace, worker=options.worker, python=options.python, gpu=None, seed=0, on_log=quiet)
        try:
            if not lab.measured:
                sys.exit("An A/A run needs a real GPU, and the worker's Python sees none. Name a machine with --worker 'ssh HOST'.")
            versions = lab.environment
            header = (
                f"{lab.device.name}, torch {versions['torch']}, Triton {versions['triton']}, Python {versions['python']}, "
                f"driver {versions['driver']}, {datetime.now(timezone.utc):%Y-%m-%d}"
            )
            program = find_program(workspace, target.path, target.kernel)
            entry = choose_entry(workspace, program, options.entry)
            task = Task(capture_cases(lab.measuring(), workspace, program, entry, lock=lab.uuid).cases, entry=entry)
            path = program.kernel.place.path
            copy = Candidate(lab.keep({path: "# The same code.\n" + program.texts[path]}, [path]))
            judge = Judge(task, gpu=lab.uuid, device=lab.device, settings=Settings(finalists=options.repeats), tell=tell)
            report = final(judge, lab.fresh, [Candidate(None), copy] * (options.repeats // 2))
        finally:
            lab.close()
        for verdict in report.verdicts:
            called = verdict.result.performance if verdict.result.fault == "none" else verdict.result.fault
            mistakes += called != "inconclusive"
            who = "the copy" if verdict.candidate != "original" else "the original"
            print(f"{file.name}: {who} called {called}, {ratio(verdict.result.score)}. {verdict.result.reason}", file=sys.stderr)
        rows += table(label(file), task, report)
        pairs[label(file)] = [asdict(m) for v in report.verdicts for m in v.measurements] + [asdict(m) for m in report.baseline]
        print(f"{file.name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    titles = ["example", "case", "method", "device µs", "pairs, 5-95 %", "device A/A ±", "call µs", "call A/A ±"]
    print(f"\nA/A, {header}\n\n| {' | '.join(titles)} |\n|{' --- |' * len(titles)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"\n{mistakes} of {options.repeats * len(files)} runs of the same code were called something else than inconclusive.")
    if options.json:
        options.json.write_text(json.dumps({"header": header, "pairs": pairs}))
    return 1 if mistakes else 0


def table(example: str, task: Task, report: FinalReport) -> list[list[str]]:
    out: list[list[str]] = []
    everything = [*report.baseline, *(m for v in report.verdicts for m in v.measurements)]
    for case in task.of_role("time"):
        own = [m for m in counted(everything) if m.case == case["id"]]
        device, call = ([m for m in own if m.quantity == q] for q in ("device", "call"))
        logs = sorted(log_ratio(m.original_us, m.variant_us) for m in device)
        low, high = logs[int(0.05 * len(logs))], logs[math.ceil(0.95 * len(logs)) - 1]
        out.append(
            [
                example,
                case["arguments"][:60],
                ", ".join(sorted({m.method for m in own})),
                f"{median(m.original_us for m in device):.1f}",
                f"{math.expm1(low):+.1%} to {math.expm1(high):+.1%}",
                f"{half_width(report.baseline, case['id'], 'device'):.1%}",
                f"{median(m.original_us for m in call):.1f}",
                f"{half_width(report.baseline, case['id'], 'call'):.1%}",
            ]
        )
    return out


def half_width(found: Sequence[Measurement], case: str, quantity: Quantity) -> float:
    """Of the 95 % interval over processes of the original against itself."""
    by_process: dict[int, list[float]] = {}
    for m in counted(found):
        if m.case == case and m.quantity == quantity:
            by_process.setdefault(m.process, []).append(log_ratio(m.original_us, m.variant_us))
    return math.expm1(of_processes([median(logs) for logs in by_process.values()]).reach)


def ratio(score: Any) -> str:
    return "no score" if score is None else f"{score.value:.4f} ({score.low:.4f} to {score.high:.4f})"


def quiet(executor: str, text: str) -> None:
    """What the example prints isn't the table."""


def tell(sentence: str) -> None:
    print(f"  {sentence}", file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KernelBandError as error:
        print(error.message, *([error.detail] if error.detail else []), sep="\n", file=sys.stderr)
        sys.exit(error.exit_code)
