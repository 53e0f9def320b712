"""Judges variants: correctness, speed, and whether a figure can be believed."""

from kernelband.judge.final import final
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, Executor, FinalReport, Measurement, Settings, Task, Verdict

__all__ = ["Candidate", "Executor", "FinalReport", "Judge", "Measurement", "Settings", "Task", "Verdict", "final"]
