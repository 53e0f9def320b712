"""All that can be done with a kernel but its variants: what comes first, and the rest, which a list asks for."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from kernelband.explain.words import line
from kernelband.lsp.features.lens import resumable
from kernelband.lsp.index import place
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.standings import Standing


@frozen
class Item:
    """A command of ours with its arguments, as it is offered."""

    title: str
    command: str
    arguments: tuple[Any, ...]


@frozen
class Menu:
    """``leads``: the first item of ``first`` comes before variants."""

    first: tuple[Item, ...]
    rest: tuple[Item, ...]
    leads: bool = False


def menu(server: KernelBandServer, uri: str, kernel: str) -> Menu:
    """Of one kernel."""
    live = server.runs.of(place(uri), kernel)
    standing = server.standings.of(uri, kernel)
    optimize = _item(f"Optimize {kernel}", "optimize", uri, kernel)
    verify = _item(f"Verify my edit of {kernel}", "verify", uri, kernel)
    rest: tuple[Item, ...] = (
        *_of_variants(uri, kernel, standing),
        _item(f"Choose the entry that runs {kernel}", "chooseEntry", uri, kernel),
        _item("Choose the device for this file", "chooseDevice", uri),
        _item("Optimize kernels changed since HEAD", "optimizeChanged", "HEAD"),
    )
    if live is not None and not live.ended:
        what = "verification" if live.request.judges else "optimization"
        return Menu((_item(f"Cancel the {what} of {kernel} ({live.headline})", "cancel", live.id),), rest, leads=True)
    interrupted = resumable(standing, place(uri), kernel)
    resume: tuple[Item, ...] = ()
    if interrupted is not None:
        resume = (_item(f"Resume the optimization of {kernel}", "resume", uri, kernel, interrupted),)
    if standing is not None and standing.stale:
        again = _item(f"Verify this version of {kernel}", "verify", uri, kernel)
        return Menu((again, *resume, optimize), rest, leads=True)
    run = standing.finding.telling if standing is not None else None
    if standing is not None and standing.taken is not None and run is not None:
        back = _item(f"Revert {kernel} to the original", "revert", uri, kernel, run.id, standing.taken.number)
        return Menu((back, *resume, optimize, verify), rest, leads=True)
    return Menu((*resume, optimize, verify), rest)


def all_of(server: KernelBandServer, uri: str, kernel: str) -> list[Item]:
    """Everything, in the order of its use."""
    found = menu(server, uri, kernel)
    return [*found.first, *found.rest]


def _of_variants(uri: str, kernel: str, standing: Standing | None) -> list[Item]:
    """Each that could be taken; then what is shown of the one that the text is, or of the best, also where the text has changed since."""
    run = standing.finding.telling if standing is not None else None
    if standing is None or run is None or not run.variants:
        return []
    items = [_item(line(run.device, v), "apply", uri, kernel, run.id, v.number) for v in standing.offers]
    best = next(iter(standing.offers), run.variants[0])
    variant, which = (standing.taken, "this variant") if standing.taken is not None else (best, "the best variant")
    arguments = (uri, kernel, run.id, variant.number)
    items += [
        _item(f"Compare {which} of {kernel} with the original", "compare", *arguments),
        _item(f"Explain {which} of {kernel}", "explain", *arguments),
        _item(f"Copy the command that repeats the search for {which}", "reproduce", *arguments),
    ]
    if standing.offers:
        items.append(_item(f"Copy the patch of {which}", "patch", *arguments))
    return items


def _item(title_: str, command: str, *arguments: Any) -> Item:
    return Item(title_, f"kernelband.server.{command}", arguments)
