"""What a policy is offered."""

from __future__ import annotations

from kernelband.search._base import ARMS, Member
from kernelband.search.frontier import Outlook, offered

MEMBERS = tuple(Member(i, 1e-3, (0.0,) * 5, {}, exhausted=frozenset({"fusion"})) for i in (0, 1))
OUTLOOK = Outlook({(0, "tiling"): 1.5, (0, "pipeline"): 1.1, (1, "tiling"): 0.9})


def test_what_is_compiled_is_told_and_what_is_closed_is_left_out() -> None:
    zero, one = offered(MEMBERS, OUTLOOK, {(0, "pipeline")})
    assert zero.forecasts == {"tiling": 1.5, "pipeline": 1.1}
    assert zero.exhausted == {"fusion", "pipeline"}
    assert (one.forecasts, one.exhausted) == ({"tiling": 0.9}, {"fusion"})


def test_a_device_that_waits_gets_what_is_compiled() -> None:
    zero, one = offered(MEMBERS, OUTLOOK, {(0, "tiling")}, only_ready=True)
    names = {a.name for a in ARMS}
    assert zero.exhausted == names - {"pipeline"}
    assert one.exhausted == names - {"tiling"}
