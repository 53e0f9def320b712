"""The rules for choosing arms, by name. One file each; all keep to ``search._base.Policy``."""

from __future__ import annotations

from kernelband.errors import UsageError
from kernelband.search._base import Policy
from kernelband.search.policies.mends import WITHOUT, without

NAMES = ("kernelband", "paper", "paper-v1", "random", "greedy")


def make_policy(name: str) -> Policy:
    """The policy of that name, or ``kernelband-without-MEND`` (``mends.MENDS``), for comparing.

    Raises:
        UsageError: there is none.
    """
    if name == "paper":
        from kernelband.search.policies.paper import Paper

        return Paper()
    if name == "paper-v1":
        from kernelband.search.policies.paper_v1 import PaperV1

        return PaperV1()
    if name == "kernelband":
        from kernelband.search.policies.kernelband import KernelBand

        return KernelBand()
    if name.startswith(WITHOUT):
        from kernelband.search.policies.kernelband import KernelBand

        return KernelBand(without(name.removeprefix(WITHOUT)), name)
    if name == "random":
        from kernelband.search.policies.random import Random

        return Random()
    if name == "greedy":
        from kernelband.search.policies.greedy import Greedy

        return Greedy()
    raise UsageError(f"There is no policy {name!r}: choose one of {', '.join(NAMES)}.")
