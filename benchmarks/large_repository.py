#!/usr/bin/env python3
"""What a repository with thousands of kernels costs: to list them on the command line, and in the editor while it asks for other things.

    python benchmarks/large_repository.py [--files 10000] [--kernels 6000] [--hovers 500] [--folder DIR]

It writes such a repository into a temporary folder, or takes DIR, and starts with an empty cache. Cold: nothing was read before (by us;
the system may have the files in memory). Again: by another process, or a new server, that finds what the first one kept.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen
from latency import percentile
from neighbours import SERVER, begin
from timed_editor import PATIENCE_S, Buffer, Client

IN_A_FOLDER = 100  # files
EACH = 2.6  # kernels of a file that has any
ODD = 0.08  # of the files with kernels: another spelling of jit
LOOKS = 100  # at most, until the server says that it has all
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
OPENED = HEAD + (
    "\n\n@triton.jit\ndef kernel_0(x, n, BLOCK: tl.constexpr):\n    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(x + at, 1.0, mask=at < n)\n\n\ndef host_0(x):\n    kernel_0[(1,)](x, x.numel(), BLOCK=64)\n"
)
KERNEL = '''

@triton.autotune(
    configs=[
        triton.Config({{"BLOCK_M": m, "BLOCK_N": n}}, num_warps=w)
        for m in (32, 64, 128)
        for n in (32, 64)
        for w in (4, 8)
    ],
    key=["rows", "columns"],
)
@triton.jit
def kernel_{i}(x, y, out, rows, columns, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Row by row, block by block."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start in range(0, columns, BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
{steps}
        total += tl.sum(a, axis=1)
    tl.store(out + row, total, mask=row < rows)


def host_{i}(x, y):
    rows, columns = x.shape
    out = torch.empty(rows, device=x.device, dtype=torch.float32)
    grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]),)
    kernel_{i}[grid](x, y, out, rows, columns, x.stride(0))
    return out
'''
STEP = """        inside = (row[:, None] < rows) & (column[None, :] < columns)
        a = tl.load(x + row[:, None] * stride + column[None, :], mask=inside, other={n}.0)
        b = tl.load(y + row[:, None] * stride + column[None, :], mask=inside, other=0.0)
        a = tl.where(a > b, a * {n}.5 + b, tl.exp(a - b))"""
PLAIN = '''

def plain_{i}(values, limit=16):
    """Those below the limit, with what comes after them."""
    found = []
    for number, value in enumerate(values):
        if value is not None and value[0] < limit:
            found.append({{"value": value, "at": number, "rest": [v for v in value[1:] if v]}})
    return sorted(found, key=lambda one: (one["value"], -one["at"]))
'''


def make(folder: Path, files: int, kernels: int) -> None:
    """A repository of that size: modules with kernels, and between them such as have none. The same each time."""
    rng = random.Random(4)  # noqa: S311 - not for secrets
    (folder / "pyproject.toml").write_text("")
    with_kernels, done = round(kernels / EACH), 0
    for number in range(files):
        here = folder / f"part_{number // IN_A_FOLDER}"
        if number % IN_A_FOLDER == 0:
            here.mkdir()
        upto = (number + 1) * with_kernels // files * kernels // with_kernels
        odd = upto > done and rng.random() < ODD
        text = HEAD + ("from triton import jit\n" if odd else "")
        for i in range(done, upto):
            kernel = KERNEL.format(i=i, steps="\n".join(STEP.format(n=n) for n in range(rng.randrange(1, 5))))
            text += kernel.replace("@triton.jit", "@jit") if odd else kernel
        done = upto
        text += "".join(PLAIN.format(i=i) for i in range(rng.randrange(4, 12)))
        (here / f"module_{number}.py").write_text(text)


@frozen
class Measured:
    """``rows``: what was done, with seconds and the most MiB. ``hovers``: milliseconds, by what went on meanwhile."""

    rows: list[tuple[str, float, float, int]] = field(factory=list[tuple[str, float, float, int]])
    hovers: dict[str, list[float]] = field(factory=dict[str, list[float]])


def measure(folder: Path, scratch: Path, hovers: int) -> Measured:
    """The command line first, then the editor; each begins with nothing kept."""
    out = Measured()
    for where, listed in (("command line", _command_line), ("editor", _editor)):
        home = scratch / where.replace(" ", "-")
        home.mkdir()
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "KERNELBAND"))}
        for how in ("cold", "again"):
            listed(folder, {**keep, "HOME": str(home)}, f"{where}, {how}", out, hovers)
    return out


def _command_line(folder: Path, environment: Mapping[str, str], what: str, out: Measured, hovers: int) -> None:  # noqa: ARG001
    with tempfile.TemporaryFile() as told:
        began = time.perf_counter()
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "kernelband", "kernels", str(folder), "--json"],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, told.fileno(), 1)],
        )
        _, status, used = os.wait4(process, 0)
        seconds = time.perf_counter() - began
        if os.waitstatus_to_exitcode(status):
            raise RuntimeError(f"`kernelband kernels {folder}` ended with code {os.waitstatus_to_exitcode(status)}.")
        told.seek(0)
        out.rows.append((what, seconds, used.ru_maxrss / 1024, told.read().count(b'"kernel":')))


def _editor(folder: Path, environment: Mapping[str, str], what: str, out: Measured, hovers: int) -> None:
    client = Client(SERVER, folder, environment)
    try:
        begin(client, folder)
        buffer = Buffer(client, (folder / "opened_here.py").as_uri(), OPENED)
        buffer.open()
        out.hovers[f"{what}: before"] = [_hover(buffer) for _ in range(hovers)]
        found: list[tuple[float, int]] = []
        asking = threading.Thread(target=lambda: found.append(_all(client)))
        asking.start()
        meanwhile = out.hovers[f"{what}: meanwhile"] = []
        while asking.is_alive():
            meanwhile.append(_hover(buffer))
        asking.join()
        out.rows.append((what, found[0][0], client.memory_mib("VmHWM"), found[0][1]))
        seconds, number = _all(client)
        out.rows.append((f"{what}, asked once more", seconds, client.memory_mib("VmHWM"), number))
        client.ask("shutdown", None)
        client.notify("exit", None)
        client.process.wait(PATIENCE_S)
    finally:
        client.close()


def _hover(buffer: Buffer) -> float:
    time.sleep(0.005)
    at = buffer.position(OPENED.index("kernel_0") + 1)
    milliseconds, said = buffer.client.ask("textDocument/hover", {"textDocument": buffer.document, "position": at})
    if not said:
        raise RuntimeError("A hover has no content.")
    return milliseconds


def _all(client: Client) -> tuple[float, int]:
    """Seconds until the server has read every file, asked as the side bar asks, and how many kernels it then says."""
    began = time.perf_counter()
    for _ in range(LOOKS):
        answer: Any = client.ask("workspace/executeCommand", {"command": "kernelband.server.kernels", "arguments": []})[1]
        if not answer["truncated"]:
            return time.perf_counter() - began, len(answer["kernels"])
    raise RuntimeError(f"After {LOOKS} looks the server still says that there may be more.")


def table(measured: Measured) -> str:
    """Markdown."""
    lines = ["| listed | s | MiB at most | kernels |", "|" + " --- |" * 4]
    lines += [f"| {what} | {seconds:.2f} | {mib:.0f} | {kernels} |" for what, seconds, mib, kernels in measured.rows]
    lines += ["", "| hover, ms | p50 | p99 | max | requests |", "|" + " --- |" * 5]
    lines += [f"| {what} | {_cells(samples)} | {len(samples)} |" for what, samples in measured.hovers.items() if samples]
    return "\n".join(lines)


def _cells(samples: Sequence[float]) -> str:
    return " | ".join(f"{percentile(samples, share):.1f}" for share in (0.5, 0.99, 1.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--kernels", type=int, default=6000)
    parser.add_argument("--hovers", type=int, default=500, help="of which each server is asked before it lists the kernels")
    parser.add_argument("--folder", type=Path, help="a repository that is there, instead of a made one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder.resolve() if options.folder is not None else Path(scratch, "repository")
        if options.folder is None:
            folder.mkdir()
            make(folder, options.files, options.kernels)
        print(table(measure(folder, Path(scratch), options.hovers)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
