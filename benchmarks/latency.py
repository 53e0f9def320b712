#!/usr/bin/env python3
"""How long an editor waits for the language server, measured at the client: from the bytes written to the reply parsed.

    python benchmarks/latency.py [--requests 1000] [--lines 5000] [--kernels 50] [--trials 10000] [--search PYTHON] [--jedi PYTHON]
                                 [--out FILE]

It makes a workspace and a history in a temporary folder and starts ``kernelband lsp`` on them as a process of its own. While requests are
timed, a change is sent every 100 ms at a random place. Fresh lenses are asked for as editors do: at once after a key, then when the server
says that there are others. With ``--search`` a predicted search of another file compiles on the same cores all that time and writes the
same history; PYTHON is one with torch and Triton. With ``--jedi`` the hovers of jedi-language-server are timed under the same load; PYTHON
is one with requirements-latency.txt. Everything random has a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen
from large_workspace import HEAD, SEARCHED, big_text, fill
from neighbours import BARE, JEDI, SERVER, begin, start
from timed_editor import PATIENCE_S, Buffer, Client

KINDS = (
    "lens",
    "hover",
    "action",
    "keystroke to fresh lens",
    "hover while a file opens",
    "start to initialize",
    "start to initialize, pygls without features",
    "hover, jedi-language-server",
)
STARTS = 10
TYPING_S = 0.1
PAUSE_S = 0.04  # at most, between two requests: they fall anywhere between two changes


@frozen
class Measured:
    """``samples``: milliseconds in the order they were taken. ``figures``: single ones. ``empty``: replies without content."""

    samples: dict[str, list[float]] = field(factory=lambda: {kind: [] for kind in KINDS})
    figures: dict[str, float] = field(factory=dict[str, float])
    empty: dict[str, int] = field(factory=lambda: dict.fromkeys(KINDS, 0))

    def take(self, kind: str, reply: tuple[float, Any]) -> None:
        self.samples[kind].append(reply[0])
        self.empty[kind] += not reply[1]


def measure(folder: Path, options: argparse.Namespace) -> Measured:
    """All of it, on a server of its own."""
    work, home, db = folder / "work", folder / "home", folder / "history.db"
    for made in (work, home):
        made.mkdir()
    big, small, searched = work / "big.py", work / "small.py", work / "searched.py"
    big.write_text(big_text(options.lines, options.kernels))
    small.write_text(big_text(60, 1))
    searched.write_text(HEAD + SEARCHED)
    fill(db, str(big.resolve()), big.read_text(), options.kernels, options.trials)
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "KERNELBAND"))}
    environment = {**keep, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    out = Measured()
    for kind, command in ((KINDS[5], [*SERVER, "--db", str(db)]), (KINDS[6], BARE)):
        for _ in range(STARTS):
            out.take(kind, (start(command, work, environment), kind))
    client = Client([*SERVER, "--db", str(db)], work, environment)
    try:
        buffer = _open(client, big, small, out)
        _idle(client, out, options.idle)
        with _searching(searched, db, options.search, environment) as searches:
            _requests(buffer, out, options)
            out.figures["memory at the end, MiB"] = client.memory_mib("VmRSS")
            out.figures["memory at most, MiB"] = client.memory_mib("VmHWM")
            for reply in _neighbour(big, environment, options):
                out.take(KINDS[7], reply)
        if searches:
            out.figures["searches beside, one after another"] = len(searches)
        client.ask("shutdown", None)
        client.notify("exit", None)
        client.process.wait(PATIENCE_S)
        return out
    finally:
        client.close()


def _open(client: Client, big: Path, small: Path, out: Measured) -> Buffer:
    begin(client, big.parent)
    first, buffer = Buffer(client, small.as_uri(), small.read_text()), Buffer(client, big.as_uri(), big.read_text(), len(HEAD))
    first.open()
    first.lens()
    opened: list[float] = []
    buffer.open()
    asking = threading.Thread(target=lambda: opened.append(buffer.lens()[0]))
    asking.start()
    while asking.is_alive():
        out.take(KINDS[4], first.hover(0))
        time.sleep(0.01)
    out.figures["first open to its lenses, ms"] = opened[0]
    since = time.perf_counter()
    while not _told(buffer):
        if time.perf_counter() - since > PATIENCE_S:
            raise RuntimeError(f"After {PATIENCE_S:.0f} s not every kernel with runs shows what they found.")
        time.sleep(0.2)
    out.figures["lenses to what the history says in all of them, s"] = time.perf_counter() - since
    return buffer


def _told(buffer: Buffer) -> bool:
    lenses = buffer.lens()[1]
    told = {x["command"]["arguments"][1] for x in lenses if x["command"]["command"] == "kernelband.server.choose"}
    return told == {x["command"]["arguments"][1] for x in lenses}


def _idle(client: Client, out: Measured, seconds: float) -> None:
    if seconds > 0:
        _settle(client, min(seconds, 30.0))
        before = client.cpu_s()
        time.sleep(seconds)
        out.figures[f"processor time in {seconds:g} s without a request, ms"] = (client.cpu_s() - before) * 1000
    out.figures["memory after opening, MiB"] = client.memory_mib("VmRSS")


def _settle(client: Client, seconds: float) -> None:
    """Wait until it has read what it reads after opening: a second with hardly any work, but no longer than this."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = client.cpu_s()
        time.sleep(1.0)
        if client.cpu_s() - before < 0.01:
            return


@contextmanager
def _searching(file: Path, db: Path, python: str, environment: Mapping[str, str]) -> Generator[list[subprocess.Popen[bytes]], None, None]:
    """Searches, one after another for as long as it takes; begun when the first one's first trial has ended. None without a Python."""
    command = [sys.executable, "-m", "kernelband", "optimize", f"{file}::searched", "--entry", "bench", "--db", str(db), "--python", python]
    begun: list[subprocess.Popen[bytes]] = []
    tried, over = threading.Event(), threading.Event()

    def search() -> None:
        while not over.is_set():
            found = subprocess.Popen(
                [*command, "--gpu", "h100", "--seconds", "3600", "--seed", str(len(begun)), "--json"],
                cwd=file.parent,
                env={**environment, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            begun.append(found)
            assert found.stdout is not None
            for line in found.stdout:
                if json.loads(line)["event"] == "trial_ended":
                    tried.set()
                if over.is_set():
                    break
            if over.is_set():
                found.terminate()
            if found.wait(PATIENCE_S) and not over.is_set():
                return

    if not python:
        yield begun
        return
    searcher = threading.Thread(target=search)
    searcher.start()
    try:
        while not tried.wait(1.0):
            if not searcher.is_alive():
                raise RuntimeError(f"The search ended with code {begun[-1].returncode} before its first trial.")
        yield begun
        if not searcher.is_alive():
            raise RuntimeError(f"A search ended with code {begun[-1].returncode}: not all was measured beside one.")
    finally:
        over.set()
        for process in begun:
            process.terminate()
        searcher.join()


@contextmanager
def _typing(buffer: Buffer) -> Generator[None, None, None]:
    over = threading.Event()

    def type_on() -> None:
        while not over.wait(TYPING_S):
            buffer.key()

    typist = threading.Thread(target=type_on)
    typist.start()
    try:
        yield
    finally:
        over.set()
        typist.join()


def _neighbour(big: Path, environment: Mapping[str, str], options: argparse.Namespace) -> list[tuple[float, Any]]:
    """jedi-language-server's hovers on the same file, while it is typed in."""
    if not options.jedi:
        return []
    client = Client([options.jedi, *JEDI], big.parent, environment)
    try:
        begin(client, big.parent)
        buffer = Buffer(client, big.as_uri(), big.read_text(), len(HEAD))
        buffer.open()
        buffer.hover(0)  # what it reads at first isn't a hover's own
        rng = random.Random(3)  # noqa: S311 - not for secrets
        with _typing(buffer):
            return [buffer.hover(rng.randrange(options.kernels)) for _ in range(options.requests)]
    finally:
        client.close()


def _requests(buffer: Buffer, out: Measured, options: argparse.Namespace) -> None:
    with _typing(buffer):
        rng = random.Random(2)  # noqa: S311 - not for secrets
        todo = [kind for kind in KINDS[:4] for _ in range(options.requests)]
        rng.shuffle(todo)
        for kind in todo:
            kernel = rng.randrange(options.kernels)
            if kind == "lens":
                out.take(kind, buffer.lens())
            elif kind == KINDS[3]:
                out.take(kind, _fresh(buffer, kernel))
            else:
                out.take(kind, buffer.hover(kernel) if kind == "hover" else buffer.action(kernel))
            time.sleep(rng.random() * PAUSE_S)


def _fresh(buffer: Buffer, kernel: int) -> tuple[float, Any]:
    """From a kernel's new name to lenses with it, asked for as editors do: at once, then whenever the server says so. Then the old name."""
    name = f"kernel_{kernel}"
    seen = buffer.client.redraws
    sent = buffer.rename(name, f"{name}_")
    try:
        while True:
            _, lenses = buffer.lens()
            at = time.perf_counter()
            if any(x["command"]["arguments"][1:] == [f"{name}_"] for x in lenses):
                return (at - sent) * 1000, lenses
            if not buffer.client.redraw(seen):
                return (time.perf_counter() - sent) * 1000, None
            seen += 1
    finally:
        buffer.rename(f"{name}_", name)


# ---------------------------------------------------------------- the table


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that so many of all don't exceed."""
    ordered = sorted(samples)
    return ordered[max(-int(-len(ordered) * share // 1) - 1, 0)]


def table(measured: Measured) -> str:
    """Markdown."""
    lines = ["| milliseconds | p50 | p95 | p99 | max | requests | without content |", "|" + " --- |" * 7]
    for kind, samples in measured.samples.items():
        if samples:
            cells = " | ".join(f"{percentile(samples, share):.1f}" for share in (0.5, 0.95, 0.99, 1.0))
            lines.append(f"| {kind} | {cells} | {len(samples)} | {measured.empty[kind]} |")
    lines += ["", "| figure | |", "| --- | --- |", *(f"| {name} | {value:.1f} |" for name, value in measured.figures.items())]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000, help="of each kind")
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--trials", type=int, default=10_000, help="in the history, about")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds without a request, for the processor time")
    parser.add_argument("--search", metavar="PYTHON", default="", help="a predicted search beside, with this Python's torch and Triton")
    parser.add_argument("--jedi", metavar="PYTHON", default="", help="the hovers of jedi-language-server beside, with this Python")
    parser.add_argument("--out", type=Path, help="raw samples, as JSON")
    options = parser.parse_args()
    options.search, options.jedi = (str(Path(p).absolute()) if p else "" for p in (options.search, options.jedi))
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), options)
    if options.out is not None:
        given = {k: v for k, v in vars(options).items() if k != "out"}
        kept = {"options": given, "samples_ms": measured.samples, "empty": measured.empty, "figures": measured.figures}
        options.out.write_text(json.dumps(kept, indent=1))
    print(table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
