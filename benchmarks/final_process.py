#!/usr/bin/env python3
"""Finals of one example, one after the other, in a process of their own: one worker, captured once.

    PYTHONPATH=server python benchmarks/final_process.py JOB.json OUT.jsonl

It uses only what the judge offered at protocol 1 as well: with the ``server`` of an older checkout on PYTHONPATH the same lines measure
what that one's final takes. OUT gets a line when all is captured and compiled, and one for each final.

JOB: ``target`` (FILE or FILE::KERNEL); ``entry``; ``python``; ``worker``; ``candidates`` (``texts``: text by path beside FILE;
``numerics``; ``ours``); ``finals`` (``key``; ``candidates``: their numbers); ``seconds``: no final begins that would end later, counted
from the start of this process; ``guess_s``: what a final takes, until one has ended; ``device``: it must be this one; null: any.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import attrs

import kernelband
from kernelband.cli.target import Target
from kernelband.errors import KernelBandError
from kernelband.judge.comparison import counted
from kernelband.judge.final import final
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, FinalReport, Measurement, Settings, Task
from kernelband.judge.statistics import log_ratio, of_processes
from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace, find_program
from kernelband.workload import capture_cases, choose_entry, choose_proof


def main() -> int:
    begun = time.monotonic()
    job, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    target = Target.parse(job["target"])
    workspace = Workspace.for_file(target.path)
    lab = WorkerLab.start(workspace, worker=job["worker"], python=job["python"], gpu=None, seed=0, on_log=lambda *_: None)
    try:
        if not lab.measured:
            raise KernelBandError("A final needs a real GPU, and the worker's Python sees none: name a machine with --worker 'ssh HOST'.")
        if job["device"] not in (None, lab.device.name):
            raise KernelBandError(f"What is to be measured again was found on {job['device']}, and this is {lab.device.name}.")
        program = find_program(workspace, target.path, target.kernel)
        entry = choose_entry(workspace, program, job["entry"], measured=True)
        cases = capture_cases(lab.measuring(), workspace, program, entry, lock=lab.uuid).cases
        task = Task(cases, entry=choose_proof(workspace, program, entry))
        judge = Judge(task, gpu=lab.uuid, device=lab.device, settings=Settings(), tell=tell)
        candidates = [candidate(lab, os.path.dirname(target.path), given) for given in job["candidates"]]
        compile_ahead(lab, candidates, [c["id"] for c in cases])
        lab.build_references(cases)
        setup_s = time.monotonic() - begun
        write(out, {"opened": {"device": lab.device.name, "versions": versions(lab), "setup_s": setup_s, "judge": kernelband.__file__}})
        longest = 0.0
        for wanted in job["finals"]:
            start = time.monotonic()
            if start - begun + (longest or job["guess_s"]) > job["seconds"]:
                break
            report = final(judge, lab.fresh, [candidates[i] for i in wanted["candidates"]])
            seconds = time.monotonic() - start
            longest = max(longest, seconds)
            write(out, {"final": wanted["key"], "seconds": seconds, "setup_s": setup_s, **told(report, task)})
    finally:
        lab.close()
    return 0


def candidate(lab: WorkerLab, folder: str, given: Mapping[str, Any]) -> Candidate:
    """``ours`` where this judge asks for it: what our own moves made shares processes."""
    texts = {os.path.normpath(os.path.join(folder, name)): text for name, text in given["texts"].items()}
    more = {"ours": given["ours"]} if any(a.name == "ours" for a in attrs.fields(Candidate)) else {}
    return Candidate(lab.keep(texts, texts), given["numerics"], **more)


def compile_ahead(lab: WorkerLab, candidates: Sequence[Candidate], cases: Sequence[str]) -> None:
    """Whatever comes to a final was compiled before, by the search or by ``verify``.

    Raises:
        KernelBandError: it doesn't compile.
    """
    jobs: list[Any] = []
    for one in candidates:
        launches = lab.specialise(one.files, cases)["launches"]
        for launch in {x["key"]: x for x in launches}.values():
            params = {"variant": one.variant, "launch": launch, "target": lab.device.target, "instructions": False}
            jobs.append(lab.compilers.submit(params))
    for job in jobs:
        job.result()


def versions(lab: WorkerLab) -> str:
    known = lab.environment
    return f"torch {known['torch']}, Triton {known['triton']}, Python {known['python']}, driver {known['driver']}"


# ------------------------------------------------------------ what came out


def told(report: FinalReport, task: Task) -> dict[str, Any]:
    """A final as plain figures. ``rounds``: the ratio that each round would have given by itself."""
    verdicts: list[dict[str, Any]] = []
    for verdict in report.verdicts:
        result, score = verdict.result, verdict.result.score
        verdicts.append(
            {
                "called": called(result),
                "verified": result.verified,
                "reason": result.reason,
                "ratio": score.value if score else None,
                "low": score.low if score else None,
                "high": score.high if score else None,
                "rounds": rounds(verdict.measurements),
            }
        )
    return {"spent": dict(report.seconds), "verdicts": verdicts, "cases": [of_case(case, report) for case in task.timed()]}


def called(result: Any) -> str:
    """One word: how fast it is, or what is worse than slow."""
    if result.fault != "none":
        return result.fault
    if result.correctness != "passed":
        return result.correctness
    return result.performance if result.integrity == "ok" else result.integrity


def rounds(found: Sequence[Measurement]) -> list[float]:
    logs = _logs(found, "device")
    return [math.exp(fmean(by.values())) for _, by in sorted(logs.items())]


def of_case(case: Mapping[str, Any], report: FinalReport) -> dict[str, Any]:
    """A timing case of the original against the same code: its times, and how far the code differs from itself."""
    every = [m for m in counted([*report.baseline, *(m for v in report.verdicts for m in v.measurements)]) if m.case == case["id"]]
    device, call = ([m for m in every if m.quantity == quantity] for quantity in ("device", "call"))
    return {
        "arguments": case["arguments"],
        "method": ", ".join(sorted({m.method for m in every})),
        "device_us": median(m.original_us for m in device) if device else None,
        "call_us": median(m.original_us for m in call) if call else None,
        "logs": [log_ratio(m.original_us, m.variant_us) for m in device],
        **{f"{q}_reach": reach(report.baseline, case["id"], q) for q in ("device", "call")},
    }


def reach(baseline: Sequence[Measurement], case: str, quantity: str) -> float | None:
    """How far from "no difference" the 95 % interval over processes of the original against itself goes."""
    logs = [by[case] for by in _logs(baseline, quantity).values() if case in by]
    return math.expm1(of_processes(logs).reach) if len(logs) > 1 else None


def _logs(found: Sequence[Measurement], quantity: str) -> dict[int, dict[str, float]]:
    """Of each process and case the median."""
    seen: dict[int, dict[str, list[float]]] = {}
    for m in counted(found):
        if m.quantity == quantity:
            seen.setdefault(m.process, {}).setdefault(m.case, []).append(log_ratio(m.original_us, m.variant_us))
    return {process: {case: median(logs) for case, logs in by.items()} for process, by in seen.items()}


def write(out: Path, line: Mapping[str, Any]) -> None:
    with out.open("a") as file:
        file.write(json.dumps(line) + "\n")


def tell(sentence: str) -> None:
    print(f"  {sentence}", file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KernelBandError as error:
        print(f"{error.message} {error.detail or ''}".strip().replace("\n", " "), file=sys.stderr)
        sys.exit(error.exit_code)
