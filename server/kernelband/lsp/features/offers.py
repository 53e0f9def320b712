"""What an action can show of a kernel's variant."""

from __future__ import annotations

from typing import Any

from kernelband.lsp.standings import Standing

Offer = tuple[str, str, tuple[Any, ...]]  # title, command, arguments


def offers(uri: str, kernel: str, standing: Standing) -> list[Offer]:
    """Of the variant that the text is, else of the best one; also where the text has changed since."""
    run = standing.finding.telling
    if run is None or not run.variants:
        return []
    best = next(iter(standing.offers), run.variants[0])
    variant, which = (standing.taken, "this variant") if standing.taken is not None else (best, "the best variant")
    arguments = (uri, kernel, run.id, variant.number)
    return [
        (f"Compare {which} of {kernel} with the original", "kernelband.server.compare", arguments),
        (f"Explain {which} of {kernel}", "kernelband.server.explain", arguments),
        (f"Copy the command that repeats the search for {which}", "kernelband.server.reproduce", arguments),
    ]
