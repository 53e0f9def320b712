"""Which cases are timed, which are only checked, which are held out (JUDGING, section 1)."""

from __future__ import annotations

from typing import Any, Dict, List

TIME_AT_MOST = 8
TIME_SHARE = 0.9
TIME_FROM = 0.05  # a case of such a share is timed in any event: a variant that is slower on it must not look faster everywhere
CHECK_AT_MOST = 16
HOLD_OUT_FROM = 4  # distinct cases
SHORT_US = 20.0


def weight(case: Dict[str, Any]) -> float:
    """How much a case counts: its share of device time; without a GPU the bytes it moves times its calls."""
    if case["share"] is not None:
        return float(case["share"])
    moved = 0
    for launch in case["launches"]:
        moved += launch.get("guessed_bytes") or sum(_elements(t) for t in launch["tensors"].values())
    return float(moved * max(1, case["calls"]))


def _elements(tensor: Dict[str, Any]) -> int:
    count = 1
    for size in tensor["shape"]:
        count *= size
    return count


def choose(cases: List[Dict[str, Any]], *, hold_out: bool = True) -> List[Dict[str, Any]]:
    """Give every replayable case its role and drop those beyond the limit; what can't be replayed stays, to be shown.

    Held out are the third, seventh ... by weight: never the heaviest, and of different sizes. Timed are the heaviest of the rest until
    they cover 90 % of its weight, and those that have 5 % of it by themselves.
    """
    good = sorted((c for c in cases if c["replayable"] and c["neighbour_of"] is None), key=lambda c: (-weight(c), c["call_index"]))
    good = good[:CHECK_AT_MOST]
    held = {c["id"] for c in good[2::4]} if hold_out and len(good) >= HOLD_OUT_FROM else set()
    rest = [c for c in good if c["id"] not in held]
    total, covered = sum(weight(c) for c in rest), 0.0
    for number, case in enumerate(rest):
        counts = covered < TIME_SHARE * total or weight(case) >= TIME_FROM * total
        timed = number == 0 or (number < TIME_AT_MOST and counts)
        case["role"] = "time" if timed else "check"
        covered += weight(case) if timed else 0.0
    for case in good:
        if case["id"] in held:
            case["role"] = "held_out"
    kept = {c["id"] for c in good}
    return [c for c in cases if c["id"] in kept or not c["replayable"] or c["neighbour_of"] is not None]


def short(cases: List[Dict[str, Any]]) -> bool:
    """Whether every timed case takes under 20 microseconds on the device."""
    known = [c["device_us"] for c in cases if c["replayable"] and c["role"] == "time" and c["device_us"] is not None]
    return bool(known) and max(known) < SHORT_US
