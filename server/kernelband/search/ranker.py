"""What is expected of a candidate before it is executed: a forecast from compile facts and traffic."""

from __future__ import annotations

from typing import Any, cast

from attrs import define, field

from kernelband.errors import KernelBandError
from kernelband.hardware.forecast import Forecast
from kernelband.judge.protocol import Executor
from kernelband.search._lab import Lab
from kernelband.search.candidate import Candidate
from kernelband.search.profile import Profiler, Traffic

DEADLINE_S = 60.0  # of a candidate; a few programs take a second or two


@define
class Ranker:
    """Called by the preparing thread only. Beside a GPU the lab has counted traffic when it compiled; in predicted mode, with few cores,
    only what is no duplicate is counted, by an interpreter of its own: the other one checks meanwhile.
    """

    lab: Lab
    profiler: Profiler
    _interpreter: Executor | None = field(init=False, default=None)

    def rank(self, candidate: Candidate) -> Forecast:
        """The forecast of a candidate that is compiled."""
        launches = candidate.specialised["launches"] if candidate.specialised is not None else []
        if candidate.traffic is None:
            candidate.traffic = self._traffic(candidate)
        return self.profiler.forecast(launches, candidate.facts, candidate.traffic)

    def _traffic(self, candidate: Candidate) -> Traffic | None:
        if self.lab.measured:
            return None
        if self._interpreter is None:
            self._interpreter = self.lab.fresh("traffic")
        params: dict[str, Any] = {"variant": candidate.files["id"], "cases": [c["id"] for c in self.profiler.cases]}
        try:
            return cast("Traffic", self._interpreter.call("traffic", params, DEADLINE_S)["launches"])
        except KernelBandError as error:
            if error.kind == "lost":
                raise
            return None  # its check will say what is wrong with it
