"""The end of `make test`: a line a stage, the slowest tests and fixtures, the dearest files, and the name of everything that failed.

`table.py STAGE...` reads what .ci/stage and the test runners (JUnit's XML) left in .cache/test, and exits with 1 unless all stages passed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(".cache/test")
SLOWEST = 40
LAST = 12  # lines of what a stage said that failed without a test of its own: often all that a reader of CI gets to see


class Stage(NamedTuple):
    """How a stage ended; ``status`` is None where it never began, because what it needs could not be installed."""

    name: str
    status: int | None
    seconds: int
    processors: int  # their seconds, of all processes that somebody waited for
    passed: int
    failures: list[str]
    skipped: int
    took: list[tuple[float, str]]  # seconds of each test (its call), fixture and end of a test
    files: dict[str, float]  # seconds of the processors by file of tests

    @property
    def fine(self) -> bool:
        return self.status == 0 and not self.failures


def stage(name: str) -> Stage:
    """What a stage left."""
    end = RESULTS / f"{name}.end"
    status, seconds, processors = map(int, end.read_text().split()) if end.exists() else (None, 0, 0)
    passed, skipped, failures, took = 0, 0, [], []
    files: dict[str, float] = {}
    results = RESULTS / f"{name}.xml"
    for case in ET.parse(results).getroot().iter("testcase") if results.exists() else ():  # noqa: S314 - written by our own test runners
        test = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            failures.append(test)
        elif "skipped" in outcomes:
            skipped += 1
        else:
            passed += 1
        took.append((float(case.get("time", 0)), f"{name}: {test}"))
        of = {str(p.get("name")): float(p.get("value", 0)) for p in case.iter("property")}
        file = f"{name}: {case.get('classname')}"
        files[file] = files.get(file, 0.0) + of.pop("cpu", 0.0)
        took += [(seconds, f"{name}: {what} of {test}") for what, seconds in of.items()]
    return Stage(name, status, seconds, processors, passed, failures, skipped, took, files)


def main(names: list[str]) -> int:
    """Print it."""
    stages = [stage(name) for name in names]
    slowest = sorted((t for s in stages for t in s.took), reverse=True)[:SLOWEST]
    if slowest:
        print(f"\nThe slowest {len(slowest)} tests and fixtures, seconds:")
        print("\n".join(f"{seconds:8.1f}  {what}" for seconds, what in slowest))
    dearest = sorted(((seconds, file) for s in stages for file, seconds in s.files.items() if seconds), reverse=True)[:SLOWEST]
    if dearest:
        print(f"\nThe {len(dearest)} files that took most of the processors, seconds (what each test waited for):")
        print("\n".join(f"{seconds:8.1f}  {file}" for seconds, file in dearest))
    print(f"\n{'stage':22}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'CPU':>7}")
    for s in stages:
        counts = f"{s.passed:8}{len(s.failures):8}{s.skipped:9}" if s.took else " " * 25
        ended = "" if s.fine else "  never began" if s.status is None else "  FAILED"
        print(f"{s.name:22}{counts}{s.seconds:9}{s.processors:7}{ended}")
    for s in stages:
        for failure in s.failures:
            print(f"FAILED  {s.name}: {failure}")
        if s.status and not s.failures:
            print(f"FAILED  {s.name}: exit status {s.status}; {RESULTS}/{s.name}.log ends:")
            print("\n".join(f"  {line}" for line in (RESULTS / f"{s.name}.log").read_text(errors="replace").splitlines()[-LAST:]))
    totals = [sum(s.passed for s in stages), sum(len(s.failures) for s in stages), sum(s.skipped for s in stages)]
    print("tests: {} passed, {} failed, {} skipped".format(*totals))
    return 0 if all(s.fine for s in stages) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
