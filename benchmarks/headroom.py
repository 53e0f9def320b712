#!/usr/bin/env python3
"""How much room everyday kernels leave: the time that each takes, against that in which the GPU could read or write its tensors once.

    python benchmarks/headroom.py DIR ... [--results FILE] [--seconds N] [--python PYTHON] [--gpus 0,1] [--gpu NAME] [--table]

DIR is a checkout of a project that `everyday/kernels.json` names, as for `everyday.py`; one process runs all kernels of a project. FILE of
--results gets one JSON line for each kernel, and the next call leaves out what is there. A kernel that writes where it reads moves more
than its tensors hold, and one whose tensors the L2 cache holds may take less time than memory would: the share says where to look.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from everyday import INPUTS, Target, targets_of
from gpus import FailedError, Lane, ended, lanes, spread
from ledger import Ledger, LedgerError

from kernelband.hardware import find_device

TITLES = ("kernel", "µs", "MB", "of memory's peak", "beside it µs")
ROOM = 0.6  # of the peak: below it a kernel is counted as one that leaves room


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=Path("headroom.jsonl"), metavar="FILE")
    parser.add_argument("--seconds", type=float, default=500.0, help="for each project")
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch and triton")
    parser.add_argument("--gpus", help="GPUs of this machine to spread the projects over, such as 0,1")
    parser.add_argument("--gpu", default="h200", help="the GPU whose memory the table compares with")
    parser.add_argument("--table", action="store_true", help="run nothing")
    options = parser.parse_args()
    try:
        targets, ledger = targets_of(options.folders, "*"), Ledger(options.results)
    except (LedgerError, OSError, KeyError) as error:
        parser.error(str(error))
    if not options.table:
        look(targets, options, ledger)
    keys = {t.key for t in targets}
    print("\n".join(table([r for r in ledger.of("headroom") if r["key"] in keys], find_device(options.gpu).dram_bytes_per_s)))
    return 0


def look(targets: Sequence[Target], options: argparse.Namespace, ledger: Ledger) -> None:
    """Runs what isn't in the ledger yet, a process for each project."""
    done = {r["key"] for r in ledger.of("headroom")}
    projects = list(dict.fromkeys(t.project for t in targets if t.key not in done))

    def work(project: Path, lane: Lane) -> str:
        wanted = [t for t in targets if t.project == project and t.key not in done]
        functions = {t.kernel: t.entry.rpartition("::")[2] for t in wanted}
        command = [options.python, str(INPUTS / "room.py"), wanted[0].entry.rpartition("::")[0], str(project), json.dumps(functions)]
        try:
            found = ended(command, options.seconds, lane.environment, str(project))
            out, said = found.out, "" if found.code == 0 else found.last
        except FailedError as late:
            out, said = late.out, str(late)
        for line in (text for text in out.splitlines() if text.startswith("{") and text.endswith("}")):
            told = json.loads(line)
            ledger.add("headroom", f"{project.name}/{told.pop('kernel')}", project=project.name, **told)
        return said

    for project, outcome in spread(projects, lanes(options.gpus), work):
        if isinstance(outcome, Exception):
            raise outcome
        if outcome:
            print(f"{project.name}: {outcome}")


# ------------------------------------------------------------ what is told


def share(record: Mapping[str, Any], peak: float) -> float | None:
    """Of the memory's peak (bytes a second), if the kernel moved each of its tensors once; None where it didn't run."""
    if not record["us"] or not record["bytes"]:
        return None
    return record["bytes"] / (record["us"] * 1e-6) / peak


def table(records: Sequence[Mapping[str, Any]], peak: float) -> list[str]:
    """Every kernel, the one with most room first; and how many leave some."""
    shares = {r["key"]: share(r, peak) for r in records}
    ran = sorted((r for r in records if shares[r["key"]] is not None), key=lambda r: shares[r["key"]] or 0.0)
    lines = ["", f"| {' | '.join(TITLES)} |", "|" + " --- |" * len(TITLES)]
    lines += [f"| {r['key']} | {r['us']:.1f} | {r['bytes'] / 1e6:.1f} | {shares[r['key']]:.0%} | {r['beside_us']:.0f} |" for r in ran]
    lines += [f"| {r['key']} | | | {r['refused'] or 'not launched'} | |" for r in records if shares[r["key"]] is None]
    room = sum(1 for r in ran if (shares[r["key"]] or 0.0) < ROOM)
    return [*lines, "", f"{len(records)} kernels, {len(ran)} ran, {room} of them below {ROOM:.0%} of the memory's peak."]


if __name__ == "__main__":
    sys.exit(main())
