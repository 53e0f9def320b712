"""How often the tests notice that a statement of the product is gone.

    bash benchmarks/coverage.sh
    .venv/bin/python benchmarks/mutations.py [--count 100] [--seed 0] [--seconds 120] [--like FILE]

A seeded sample of statements inside functions of ``server/`` is deleted, one at a time, in copies of this checkout. Of the tests that ran
the statement, as the coverage says, the quickest run first, until one fails or the seconds are used up; those that failed with the whole
product notice nothing. A statement that no test runs is not noticed. Prints a line a mutation, then the share; .cache/mutations.jsonl keeps
them, and is continued where it ended. ``--like`` takes the statements of such a file of another commit, to compare the two: a seed draws
others where the code has changed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple
from xml.etree import ElementTree

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
#: Statements whose end changes nothing but what a reader or a type checker sees, or that hold others together.
SPARED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Match)


class Mutation(NamedTuple):
    """A statement that goes: lines and columns of ``file`` as ``ast`` counts them."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line} {self.text}"

    def apply(self, source: bytes) -> bytes:
        """The text without the statement."""
        lines = source.splitlines(keepends=True)
        before, after = lines[self.line - 1][: self.column], lines[self.end_line - 1][self.end_column :]
        return b"".join([*lines[: self.line - 1], before + b"pass" + after, *lines[self.end_line :]])


def statements(path: Path) -> Iterator[Mutation]:
    """All that can go from a file."""
    source = path.read_text()
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # a docstring, or `...`
            if not isinstance(node, ast.stmt) or isinstance(node, SPARED) or constant:
                continue
            text = (ast.get_source_segment(source, node) or "").split("\n")[0]
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            yield Mutation(str(path.relative_to(ROOT)), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, text)


def sample(count: int, seed: int) -> list[Mutation]:
    """Some of all statements of server/."""
    found = sorted({m for path in (ROOT / "server").rglob("*.py") for m in statements(path)})
    return random.Random(seed).sample(found, count)  # noqa: S311 - a sample, not a secret


def like(earlier: Path) -> list[Mutation]:
    """Those statements as they stand now; the nearest one of the same text. Tells which are gone."""
    out: list[Mutation] = []
    for row in map(json.loads, earlier.read_text().splitlines()):
        place, _, text = row["mutation"].partition(" ")
        file, _, line = place.rpartition(":")
        found = [m for m in statements(ROOT / file) if m.text == text] if (ROOT / file).exists() else []
        if found:
            out.append(min(found, key=lambda m: abs(m.line - int(line))))
        else:
            print(f"gone     {row['mutation']}")
    return out


class Tests:
    """Which tests ran a line, the quickest first."""

    def __init__(self) -> None:
        self.data = CoverageData(str(CACHE / "coverage" / "data"))
        self.data.read()
        self.seconds: dict[str, float] = {}
        self.failing: set[str] = set()
        for results in (CACHE / "test").glob("*.xml"):
            for case in ElementTree.parse(results).getroot().iter("testcase"):  # noqa: S314 - written by pytest
                test = test_of(f"|{case.get('classname')}.{str(case.get('name')).partition('[')[0]}")
                self.seconds[test] = self.seconds.get(test, 0.0) + float(case.get("time", 0))
                if case.find("failure") is not None or case.find("error") is not None:
                    self.failing.add(test)

    def that_run(self, mutation: Mutation) -> list[str]:
        by_line = self.data.contexts_by_lineno(str(ROOT / mutation.file))
        lines = range(mutation.line, mutation.end_line + 1)
        found = {test for line in lines for context in by_line.get(line, ()) for test in [test_of(context)] if test}
        return sorted(found - self.failing, key=lambda test: (self.seconds.get(test, 5.0), test))


def test_of(context: str) -> str:
    """``file::function`` of a context: pytest's own words in a child process, the function's name in the test's."""
    began, _, inside = context.partition("|")
    if inside.startswith("tests."):
        parts = inside.split(".")
        for at in range(len(parts) - 1, 0, -1):
            if (ROOT / ("/".join(parts[:at]) + ".py")).exists():
                return "/".join(parts[:at]) + ".py::" + "::".join(parts[at:])
    return began.partition("[")[0].partition(" (")[0] if began.startswith("tests/") else ""


class Copy:
    """A copy of the checkout in which one statement at a time is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.exists():
            shutil.copytree(
                ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(".git", ".cache", ".venv", ".worker*", "node_modules")
            )
            subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
            for name in (".worker", ".worker-newest", "node_modules"):
                (folder / name).symlink_to(ROOT / name)
            shutil.copytree(ROOT / ".venv", folder / ".venv", symlinks=True)
            for path in [*(folder / ".venv/bin").iterdir(), *(folder / ".venv").glob("lib/*/site-packages/*.pth")]:
                if path.is_file() and not path.is_symlink() and str(ROOT).encode() in (said := path.read_bytes()):
                    path.write_bytes(said.replace(str(ROOT).encode(), str(folder).encode()))

    def try_out(self, mutation: Mutation, tests: list[str], seconds: float) -> dict[str, Any]:
        """Whether one of these tests notices, and which."""
        path = self.folder / mutation.file
        whole = path.read_bytes()
        mutant = mutation.apply(whole)
        end, tried = time.monotonic() + seconds, 0
        try:
            path.write_bytes(mutant)
            try:
                compile(mutant, str(path), "exec")
            except SyntaxError as error:
                return {"noticed": True, "by": f"the compiler: {error.msg}", "tried": 0}
            for group in groups(tests):
                left = end - time.monotonic()
                if left <= 0:
                    break
                tried += len(group)
                if not self._pass(group, left):
                    return {"noticed": True, "by": group[0] if len(group) == 1 else f"one of {len(group)}: {group[0]} ...", "tried": tried}
        finally:
            path.write_bytes(whole)
        return {"noticed": False, "by": "", "tried": tried}

    def _pass(self, tests: list[str], seconds: float) -> bool:
        worker = tests[0].startswith("tests/unit_worker")
        python = self.folder / (".worker" if worker else ".venv") / "bin" / "python"
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **({"PYTHONPATH": "server"} if worker else {})}
        command = [str(python), "-m", "pytest", "-q", "-x", "-p", "no:xdist", *tests]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.communicate(timeout=seconds + 60)
        except subprocess.TimeoutExpired:
            return False  # a hang is noticed
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                process.poll()
            process.wait()
        return process.returncode in (0, 5)


def groups(tests: list[str]) -> Iterator[list[str]]:
    """Tests of one interpreter together, few at first."""
    size = 4
    rest = list(tests)
    while rest:
        kind = rest[0].startswith("tests/unit_worker")
        group = [t for t in rest if t.startswith("tests/unit_worker") == kind][:size]
        rest = [t for t in rest if t not in group]
        size = min(2 * size, 40)
        yield group


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120.0, help="for one mutation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--like", type=Path, help="the mutations.jsonl of another commit")
    asked = parser.parse_args()
    tests, out = Tests(), CACHE / "mutations.jsonl"
    chosen = sample(asked.count, asked.seed) if asked.like is None else like(asked.like)
    known = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {row["mutation"]: row for row in known}
    copies: Queue[Copy] = Queue()
    for number in range(asked.jobs):
        copies.put(Copy(CACHE / "mutations" / str(number)))

    def look(mutation: Mutation) -> None:
        if mutation.name in done:
            return
        wanted = tests.that_run(mutation)
        copy = copies.get()
        try:
            row = {"mutation": mutation.name, "tests": len(wanted), **copy.try_out(mutation, wanted, asked.seconds)}
        finally:
            copies.put(copy)
        done[mutation.name] = row
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            f"{'noticed' if row['noticed'] else 'NOT    '}  {mutation.name}  ({row['by'] or str(row['tests']) + ' tests run it'})",
            flush=True,
        )

    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(look, chosen))
    noticed = sum(done[m.name]["noticed"] for m in chosen)
    covered = sum(done[m.name]["tests"] > 0 for m in chosen)
    which = f"seed {asked.seed}" if asked.like is None else f"those of {asked.like}"
    print(f"{noticed} of {len(chosen)} deletions noticed ({which}); {covered} are run by some test")
    sys.exit(0)


if __name__ == "__main__":
    main()
