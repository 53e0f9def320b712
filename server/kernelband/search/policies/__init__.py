"""The rules for choosing arms, by name. One file each; all keep to ``search._base.Policy``."""

from __future__ import annotations

from kernelband.errors import UsageError
from kernelband.search._base import Policy

NAMES = ("kernelband", "paper", "random")


def make_policy(name: str) -> Policy:
    """The policy of that name.

    Raises:
        UsageError: there is none.
    """
    if name == "paper":
        from kernelband.search.policies.paper import Paper

        return Paper()
    if name == "kernelband":
        from kernelband.search.policies.kernelband import KernelBand

        return KernelBand()
    if name == "random":
        from kernelband.search.policies.random import Random

        return Random()
    raise UsageError(f"There is no policy {name!r}: choose one of {', '.join(NAMES)}.")
