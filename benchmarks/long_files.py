#!/usr/bin/env python3
"""What a long file costs in the editor: from its opening to its first lenses, then to lenses after each key.

    python benchmarks/long_files.py [--lines 20000] [--kernels 50] [--megabytes 10] [--keys 100]

The first file has that many lines, the second that many megabytes: more than is read of a file, so it has no lens but a message that says
why. Each has a server of its own, which is there before the file is opened; its start is in the figures, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from latency import HEAD, big_text, percentile
from neighbours import SERVER, begin
from timed_editor import Buffer, Client

PAUSE_S = 0.1  # between two keys
FILLER = "# a line of a table that a program has written: 0123456789 0123456789 0123456789\n"


def measured(folder: Path, text: str, keys: int) -> list[str]:
    """Cells of one row."""
    work, home = folder / "work", folder / "home"
    for made in (work, home):
        made.mkdir(parents=True)
    file = work / "long.py"
    file.write_text(text)
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "KERNELBAND"))}
    client = Client([*SERVER, "--db", str(folder / "history.db")], work, {**keep, "HOME": str(home)})
    try:
        begin(client, work)
        started = (time.perf_counter() - client.begun) * 1000
        buffer = Buffer(client, file.as_uri(), text, len(HEAD))
        buffer.open()
        first, lenses = buffer.lens()
        seen, took = client.cpu_s(), list[float]()
        for _ in range(keys):
            buffer.key()
            took.append(buffer.lens()[0])
            time.sleep(PAUSE_S)
        of_key = (client.cpu_s() - seen) / keys * 1000
        waits = [percentile(took, 0.5), percentile(took, 0.99), max(took)]
        figures = [started, first, len(lenses), *waits, of_key, client.memory_mib("VmHWM")]
    finally:
        client.close()
    return [f"{figure:,.0f}" for figure in figures]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("lines", 20_000), ("kernels", 50), ("megabytes", 10), ("keys", 100)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    size = options.megabytes * 1_000_000
    texts = {
        f"{options.lines:,} lines, {options.kernels} kernels": big_text(options.lines, options.kernels),
        f"{options.megabytes} MB": (big_text(60, 1) + FILLER * (size // len(FILLER) + 1))[:size],
    }
    columns = ["file", "start, ms", "first lenses, ms", "lenses", "after a key, ms: p50", "p99", "max", "processor time for a key, ms"]
    print("|", " | ".join([*columns, "MiB at most"]), "|")
    print("|---" * (len(columns) + 1) + "|")
    for name, text in texts.items():
        with tempfile.TemporaryDirectory() as folder:
            print("|", " | ".join([name, *measured(Path(folder), text, options.keys)]), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
