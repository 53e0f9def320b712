#!/usr/bin/env python3
"""What the final verification is worth, and what it takes, on a GPU. Each part goes on where an earlier call ended.

    python benchmarks/finals.py aa|winners|again|cost|proofs [--results FILE] [--seconds N] [--python PYTHON] [--worker CMD]
                                [--gpus 0,1] [FILE ...]

aa       every example against copies of itself, a final each: what is called faster there is called so by mistake
winners  a search of every example: what came into its final, with the interval that was shown
again    those measured again in another final, in new processes: how many ratios lie inside the first interval
cost     seconds of a final of one candidate and of three, and with --old FOLDER of an older checkout's, side by side
proofs   verify --proof of every example, `kernelband check` of it, and once more after a line of the kernel was changed

FILE of --results gets one JSON line for each result, as they come: give it to the next call, which leaves out what is there. With --seconds
no final begins that would end later, as far as the ones before tell. docs/measured.md has the command lines.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import finals_aa
import finals_again
import finals_cost
import finals_proofs
from finals_context import Context
from gpus import lanes
from ledger import Allowance, Ledger, LedgerError
from targets import EXAMPLES, examples, of_file

from kernelband.errors import KernelBandError
from kernelband.hardware import find_device

#: Of each part: under which name its failures are kept, and what does it.
PARTS: dict[str, tuple[str, Callable[[Context, Sequence[Path]], int]]] = {
    "aa": ("aa", finals_aa.run),
    "winners": ("search", finals_again.search),
    "again": ("again", finals_again.again),
    "cost": ("cost", finals_cost.run),
    "proofs": ("proof", finals_proofs.run),
}


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{message[:1].upper()}{message[1:].rstrip('.')}.\n")


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    targets = checked(parser, options)
    try:
        ledger = Ledger(options.results)
    except LedgerError as error:
        parser.error(str(error))
    step, part = PARTS[options.part]
    return part(Context(step, options, ledger, Allowance(options.seconds), lanes(options.gpus)), targets)


def arguments() -> Parser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("files", nargs="*", type=Path, help="FILE or FILE::KERNEL; default: every kernel of the examples")
    common.add_argument("--results", type=Path, default=Path("finals.jsonl"), metavar="FILE")
    common.add_argument("--seconds", type=positive, help="of this call; what doesn't fit is left for the next")
    common.add_argument("--limit", type=positive, default=400.0, help="seconds after which a process is ended")
    common.add_argument("--entry", default="bench", help="the callable of each file that is captured")
    common.add_argument("--python", help="the Python that has torch and triton")
    common.add_argument("--worker", help="a command in front of it, such as 'ssh box'")
    common.add_argument("--gpus", help="GPUs of this machine to spread the examples over, such as 0,1,2,3")
    parser = Parser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="part", required=True, parser_class=Parser, metavar="|".join(PARTS))
    made = {name: parts.add_parser(name, parents=[common]) for name in PARTS}
    made["aa"].add_argument("--finals", type=whole, default=3, help="of each example")
    made["winners"].add_argument("--trials", type=whole, default=12)
    made["winners"].add_argument("--budget", type=positive, default=50.0, help="seconds of each search, its final included")
    made["winners"].add_argument("--seed", type=int, default=0, help="another seed finds more")
    made["cost"].add_argument("--old", type=Path, metavar="FOLDER", help="an older checkout, of which server/ is used")
    made["proofs"].add_argument("--check-seconds", type=positive, default=60.0, help="that a check may take")
    made["proofs"].add_argument("--gpu", help="the GPU to predict for, when none is available")
    return parser


def checked(parser: Parser, options: argparse.Namespace) -> list[Path]:
    """The targets. Whatever can be refused is refused before anything starts."""
    for file in options.files:
        if not Path(str(file).partition("::")[0]).is_file():
            parser.error(f"there is no file {file}")
    if options.python and not options.worker:
        found = shutil.which(options.python)
        if found is None:
            parser.error(f"there is no Python {options.python}")
        options.python = os.path.abspath(found)  # proofs are made in folders of their own
    if options.gpus and options.worker:
        parser.error("--gpus spreads over this machine's GPUs; a --worker's are not this machine's")
    if not options.results.parent.is_dir() or options.results.is_dir():
        parser.error(f"the results can't be kept in {options.results}: name a file in a folder that is there")
    old = getattr(options, "old", None)
    if old is not None and not (old / "server" / "kernelband" / "judge" / "final.py").is_file():
        parser.error(f"{old} holds no server/kernelband: give --old a checkout of KernelBand")
    if getattr(options, "gpu", None):
        try:
            find_device(options.gpu)
        except KernelBandError as error:
            parser.error(error.message)
    if options.files:
        return [target for file in options.files for target in ([file] if "::" in str(file) else of_file(file))]
    names = finals_cost.EXAMPLES if options.part == "cost" else ()
    return [EXAMPLES / f"{name}.py" for name in names] or examples()


def positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError("give more than 0")
    return number


def whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
