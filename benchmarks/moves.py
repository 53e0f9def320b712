#!/usr/bin/env python3
"""Which moves kernels that nobody here wrote are offered: another block, another structure, or neither.

    python benchmarks/moves.py DIR ... [--results FILE] [--seconds N] [--jobs N] [--every N] [--only PATTERN] [--skip PATTERN ...]
                               [--python PYTHON] [--gpu NAME]

Each kernel of the folders' programs is captured as `kernelband capture FILE::KERNEL` does it; then all strategies are asked for what they
would propose, and nothing is compiled. FILE of --results gets one JSON line for each kernel, as they come: give it to the next call, which
leaves out what is there. With --seconds no capture begins after that time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

from finals_context import SERVER
from gpus import FailedError, Lane, ended, spread
from ledger import Allowance, Ledger, LedgerError
from reach import Target, kernels_of, summary

from kernelband.hardware import find_device
from kernelband.source import Workspace, find_program
from kernelband.strategies import STRATEGIES, Facts, Proposal
from kernelband.strategies.tiling.fixed import fixed_blocks

CAPTURE_S = 150.0
MOST = 400  # proposals of a strategy that are looked at
NO_BLOCK = {"num_warps", "num_stages", "launch", "config"}  # parameters of `tiles` beside blocks
#: What a kernel does in another order, number of passes or layout; a hint, a constant or another spelling of the same isn't.
STRUCTURAL = {
    *("split_loop", "split_passes", "split_walk", "resident_programs", "row_blocks"),
    *("rows_per_program", "one_block", "split_reduction", "split_k", "merged_passes", "online_softmax", "one_pass_moments"),
    *("accumulate_late", "contiguous_copy", "flatten", "single_accumulator", "grouped_order", "heavy_first", "swap_axes"),
    *("persistent_rows", "axis_in_loop", "persistent", "contiguous_rows", "tensor_descriptors", "hoisted_loads", "guarded_fast_path"),
    *("steps_at_once", "persistent_products"),
}
BLOCK = {"elements_per_thread", "more_programs", "heuristic_blocks"}
TITLES = ("project", "kernels", "captured", "another block", "another structure", "neither", "no move at all")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=Path("moves.jsonl"), metavar="FILE")
    parser.add_argument("--seconds", type=float, help="of this call; what doesn't fit is left for the next")
    parser.add_argument("--jobs", type=int, default=1, help="captures side by side")
    parser.add_argument("--every", type=int, default=1, help="only each Nth kernel of a project, in the order of their places")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only kernels whose PROJECT/FILE::KERNEL is like that")
    parser.add_argument("--skip", action="append", default=[], metavar="PATTERN", help="not those that are like that, another vendor's say")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--gpu", default="h200", help="the GPU to assume when none is available")
    options = parser.parse_args()
    missing = next((f for f in options.folders if not f.is_dir()), None)
    if missing is not None:
        parser.error(f"there is no folder {missing}")
    try:
        ledger = Ledger(options.results)
    except LedgerError as error:
        parser.error(str(error))
    targets = [t for folder in options.folders for t in wanted(kernels_of(folder.resolve()), options)[:: options.every]]
    left = offer(targets, options, ledger)
    keys = {t.key for t in targets}
    print("\n".join(summary([r for r in ledger.of("moves") if r["key"] in keys], TITLES, figures)))
    if left:
        print(f"\n{left} kernels are left for the next call.")
    return 0


def wanted(targets: Sequence[Target], options: argparse.Namespace) -> list[Target]:
    return [t for t in targets if fnmatch(t.key, options.only) and not any(fnmatch(t.key, p) for p in options.skip)]


def offer(targets: Sequence[Target], options: argparse.Namespace, ledger: Ledger) -> int:
    """Asks for what isn't in the ledger yet; how many kernels are left for another call."""
    done = {r["key"] for r in ledger.of("moves")}
    allowance = Allowance(options.seconds)

    def work(target: Target, lane: Lane) -> dict[str, Any] | None:
        return captured(target, options, lane) if allowance.fits([0.0]) else None

    left = 0
    for target, outcome in spread([t for t in targets if t.key not in done], [Lane(None, None)] * max(1, options.jobs), work):
        if outcome is None:
            left += 1
            continue
        if isinstance(outcome, Exception):
            raise outcome
        cases = outcome.pop("found")
        record = ledger.add("moves", target.key, project=target.project.name, **outcome, **offered(target, cases, options.gpu))
        print(line(record), flush=True)
    return left


def captured(target: Target, options: argparse.Namespace, lane: Lane) -> dict[str, Any]:
    """The cases of a kernel, or why there are none."""
    start = time.monotonic()
    command = [sys.executable, "-m", "kernelband", "capture", f"{target.file}::{target.kernel}", "--gpu", options.gpu, "--json"]
    command += ["--python", options.python] if options.python else []
    environment = {**lane.environment, "PYTHONPATH": os.pathsep.join(filter(None, (str(SERVER), os.environ.get("PYTHONPATH"))))}
    try:
        done = ended(command, CAPTURE_S, environment, str(target.project))
        told = json.loads(done.out) if done.code == 0 else {}
        refused = "" if told else f"{done.last}"
    except (FailedError, json.JSONDecodeError) as failed:
        told, refused = {}, str(failed)
    return {"found": told.get("cases", []), "refused": refused, "seconds": time.monotonic() - start}


def offered(target: Target, cases: Sequence[Mapping[str, Any]], gpu: str) -> dict[str, Any]:
    """How many proposals each move makes, what is said of fixed blocks, and which kinds they are of."""
    if not cases:
        return {"cases": 0, "moves": {}, "notes": [], "block": False, "structure": False}
    program = find_program(Workspace.for_file(str(target.file)), str(target.file), target.kernel)
    facts = Facts(find_device(gpu), tuple(cases))  # type: ignore[arg-type]
    proposals = [p for strategy in STRATEGIES for p in islice(strategy.propose(program, facts), MOST)]
    return {
        "cases": len(cases),
        "moves": Counter(p.move for p in proposals),
        "notes": list(fixed_blocks(program, facts)),
        "block": any(p.move in BLOCK or (p.move == "tiles" and changes_block(p)) for p in proposals),
        "structure": any(p.move in STRUCTURAL for p in proposals),
    }


def changes_block(tile: Proposal) -> bool:
    return any(f"{name} " in tile.what for name in set(tile.parameters) - NO_BLOCK)


# ------------------------------------------------------------ what is told


def line(record: Mapping[str, Any]) -> str:
    if record["refused"]:
        return f"{record['key']}: {record['refused']} ({record['seconds']:.0f} s)"
    moves = ", ".join(f"{count} {move}" for move, count in record["moves"].items()) or "no move"
    return f"{record['key']}: {moves}{''.join(f'; {note}' for note in record['notes'])} ({record['seconds']:.0f} s)"


def figures(records: Sequence[Mapping[str, Any]]) -> list[str]:
    seen = [r for r in records if r["cases"]]
    block, structure = sum(r["block"] for r in seen), sum(r["structure"] for r in seen)
    neither = sum(not r["block"] and not r["structure"] for r in seen)
    return [str(n) for n in (len(records), len(seen), block, structure, neither, sum(not r["moves"] for r in seen))]


if __name__ == "__main__":
    sys.exit(main())
