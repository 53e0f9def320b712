"""``kernelband verify``: the judge's word on an edit of your own."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from kernelband.cli.failing import FAIL_ON, failed, require_known
from kernelband.cli.failure import INTERRUPTED
from kernelband.cli.optimize import interruptible, require_new_id, require_search, view_of, with_repository
from kernelband.cli.output import echo
from kernelband.cli.proving import proof_option, require_place, write_proof
from kernelband.cli.target import Target, db_option, overlay_option, parse_overlays
from kernelband.cli.where import device_options
from kernelband.errors import SourceError
from kernelband.history import find_place


@click.command()
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option(
    "--against",
    metavar="REF|FILE",
    help="The original: a commit, or a file whose text FILE had. Default: the saved file where an overlay differs from it, else HEAD.",
)
@click.option(
    "--against-overlay",
    "before",
    multiple=True,
    metavar="FILE=PATH",
    help="The original: FILE had the text of PATH, and files that aren't named are unchanged. For several files, or an editor's texts.",
)
@click.option("--entry", metavar="E", help="The entry, which runs the kernel: NAME, FILE.py::NAME, a pytest node, or __main__.")
@device_options("The GPU to predict for when none is available.")
@click.option("--objective", metavar="device|call", help="Which time to reduce: device or call. Default: device.")
@click.option("--allow-lower-precision", is_flag=True, help="An edit may lower precision (tf32, narrower accumulators).")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same inputs.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), help="Exit with code 12 if the edit is wrong; or also if it is slower; or unless it is faster."
)
@proof_option
@db_option
@overlay_option
@click.option("--run-id", metavar="ID", hidden=True, help="The id of the new run, for a front end that must know it beforehand.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each event.")
def verify(target: str, against: str | None, db: str | None, overlays: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Judge your edit of a kernel, its helpers and host functions against the original, as a found variant would be.

    It is compiled, checked on every case and timed in fresh processes. The result is one sentence: faster, slower, no sure
    difference, or wrong. Without a GPU it is checked by the interpreter and its speed is predicted.
    """
    begun = time.monotonic()
    require_new_id(given["run_id"])
    require_place(given["proof"])
    place = find_place(db)
    require_search()
    from kernelband.search.given_edit import given_edit
    from kernelband.search.options import Options
    from kernelband.search.run import optimize as search
    from kernelband.search.start import start_if

    named, texts = Target.parse(target), parse_overlays(overlays)
    if named.path not in texts and not os.path.exists(named.path):
        raise SourceError(f"There is no file {target.partition('::')[0]}: check the name and the folder that you are in.")
    if given["gpu"] is not None:
        from kernelband.hardware import find_device

        find_device(given["gpu"])  # an unknown name is said before anything starts
    given = with_repository(given, named.path)
    allowed = ("exact", "reassociates", "lowers_precision") if given["allow_lower_precision"] else ("exact", "reassociates")
    keys = ("entry", "gpu", "worker", "python", "objective", "seed")
    options = Options(named.path, named.kernel, allowed=allowed, overlays=texts, **{k: given[k] for k in keys})
    options = given_edit(options, against, parse_overlays(given["before"], "--against-overlay"))
    view = view_of(as_json)
    if place.note:
        echo(place.note, err=True)
    with view, interruptible():
        start = start_if(lambda lab: require_known(given["fail_on"], measured=lab.measured))
        ended = search(options, place.path, view.hear, run_id=given["run_id"], start_lab=start, begun=begun)
    view.finish(ended, place.path)
    if ended.state == "interrupted":
        return INTERRUPTED
    write_proof(place.path, ended, given["proof"])
    return failed(place.path, ended.run, given["fail_on"])
