"""What is expected of a candidate before it is executed: a forecast from compile facts and traffic."""

from __future__ import annotations

from typing import cast

from attrs import define

from kernelband.errors import KernelBandError
from kernelband.hardware.forecast import Forecast
from kernelband.search._lab import Lab
from kernelband.search.candidate import Candidate
from kernelband.search.profile import Profiler, Traffic


@define
class Ranker:
    """Called by the preparing thread only. Beside a GPU the lab has counted traffic when it compiled; in predicted mode, with few cores,
    only what is no duplicate is counted.
    """

    lab: Lab
    profiler: Profiler

    def rank(self, candidate: Candidate) -> Forecast:
        """The forecast of a candidate that is compiled."""
        launches = candidate.specialised["launches"] if candidate.specialised is not None else []
        if candidate.traffic is None:
            candidate.traffic = self._traffic(candidate)
        return self.profiler.forecast(launches, candidate.facts, candidate.traffic)

    def _traffic(self, candidate: Candidate) -> Traffic | None:
        if self.lab.measured:
            return None
        try:
            return cast("Traffic", self.lab.count(candidate.files, [c["id"] for c in self.profiler.cases]).result()["launches"])
        except KernelBandError as error:
            if error.kind == "lost":
                raise
            return None  # its check will say what is wrong with it
