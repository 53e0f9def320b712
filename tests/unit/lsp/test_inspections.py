"""Inspections as processes: what they answer, what ends them, and that one runs at a time. The command is a small program of the test."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import KernelBandError, WorkloadError
from kernelband.lsp.inspections import Inspections, arguments
from kernelband.lsp.liverun import Request
from kernelband.source import between, patch_to_json
from tests.unit.explain.test_hints import row

KERNEL = "import triton\n\n\n@triton.jit\ndef kernel(x, BLOCK):\n    pass\n"


def program(folder: Path, *events: Any, code: int = 0, waits: bool = False, last: str = "") -> tuple[str, ...]:
    """A command that says these events and ends, or waits for a file called go; it writes down when it began and ended."""
    times = folder / "times"
    text = "\n".join(
        [
            "import os, pathlib, sys, time",
            f"times = pathlib.Path({str(times)!r})",
            "open(times, 'a').write(f'+{time.time()}\\n')",
            *(f"print({json.dumps(json.dumps(e))}, flush=True)" for e in events),
            f"while {waits} and not os.path.exists({str(folder / 'go')!r}): time.sleep(0.01)",
            "open(times, 'a').write(f'-{time.time()}\\n')",
            f"print({last!r}, file=sys.stderr)",
            f"sys.exit({code})",
        ]
    )
    (folder / "command.py").write_text(text)
    return sys.executable, str(folder / "command.py")


def signs(folder: Path) -> str:
    """A plus for each that began, a minus for each that ended, in their order."""
    path = folder / "times"
    return "".join(line[0] for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")) if path.exists() else ""


def inspected(**more: Any) -> dict[str, Any]:
    return {"event": "inspected", **row(**more)}


def ask(folder: Path, **more: Any) -> Request:
    path = str(folder / "k.py")
    (folder / "k.py").write_text(KERNEL)
    return Request((folder / "k.py").as_uri(), path, "kernel", None, {path: KERNEL}, **more)


def nobody(path: str) -> str:
    return ""


@pytest.mark.asyncio
async def test_moves_that_it_names_are_kept_with_their_patches(tmp_path: Path) -> None:
    path = str(tmp_path / "k.py")
    patch = patch_to_json(between({path: KERNEL}, {path: KERNEL.replace("BLOCK", "SIZE")}))
    move = {"event": "proposed", "code": "spills", "move": "tiling.tiles(BLOCK=64)", "what": "BLOCK 128→64.", "patch": patch}
    found = await Inspections(nobody, program(tmp_path, inspected(), move)).inspect(ask(tmp_path))
    assert [(r.number, r.code, r.what) for r in found.remedies] == [(1, "spills", "BLOCK 128→64.")]
    assert found.of.patches[1].apply({path: KERNEL}) == {path: KERNEL.replace("BLOCK", "SIZE")}


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_what_was_compiled_is_said_however_the_moves_went(tmp_path: Path, how: str) -> None:
    command = program(tmp_path, inspected(), {"event": "proposing"}, code=70 if how == "fails" else 0, waits=how == "hangs")
    found, limit = None, 0.5 if how == "hangs" else 200.0
    while found is None:  # on a busy machine it may come to say nothing in so short a time
        with contextlib.suppress(WorkloadError):
            found = await Inspections(nobody, command, limit=limit).inspect(ask(tmp_path))
        limit *= 4
    assert [h.code for h in found.hints] == ["narrow-access", "mask-always-true", "too-few-programs"]
    assert found.remedies == ()


@pytest.mark.asyncio
async def test_a_move_of_another_text_is_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "k.py")
    patch = patch_to_json(between({path: "# before\n" + KERNEL}, {path: KERNEL}))
    move = {"event": "proposed", "code": "spills", "move": "m", "what": "w", "patch": patch}
    found = await Inspections(nobody, program(tmp_path, inspected(), move)).inspect(ask(tmp_path))
    assert found.remedies == ()


@pytest.mark.asyncio
async def test_what_it_says_becomes_hints_of_that_text(tmp_path: Path) -> None:
    begin = time.time()
    found = await Inspections(nobody, program(tmp_path, {"event": "noted"}, inspected())).inspect(ask(tmp_path))
    assert [h.code for h in found.hints] == ["narrow-access", "mask-always-true", "too-few-programs"]
    assert found.of.base_texts == {str(tmp_path / "k.py"): KERNEL}
    assert begin <= found.at <= time.time()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"code": 4, "events": [{"event": "error", "message": "The entry is missing."}], "last": "more"}, "The entry is missing."),
        ({"code": 4, "events": [inspected(facts=None, error="No room.")]}, "No room."),
        ({"code": 70, "events": [], "last": "It met a problem."}, "It met a problem."),
        ({"code": 9, "events": []}, "ended with exit code 9"),
        ({"events": [], "waits": True}, "took longer"),
    ],
)
async def test_what_goes_wrong_is_one_sentence(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    events = options.pop("events")
    limit = 0.2 if "waits" in options else 200.0
    with pytest.raises(KernelBandError, match=sentence):
        await Inspections(nobody, program(tmp_path, *events, **options), limit=limit).inspect(ask(tmp_path))


@pytest.mark.asyncio
async def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KernelBandError, match="can't be started"):
        await Inspections(nobody, (str(tmp_path / "none"),)).inspect(ask(tmp_path))


@pytest.mark.asyncio
async def test_nothing_starts_where_it_may_not_run(tmp_path: Path) -> None:
    asked: list[str] = []

    def refusal(path: str) -> str:
        asked.append(path)
        return "" if path.endswith("k.py") else "That folder isn't trusted."

    inspections = Inspections(refusal, program(tmp_path))
    with pytest.raises(KernelBandError, match="isn't trusted"):
        await inspections.inspect(ask(tmp_path, entry="/elsewhere/entry.py::main"))
    assert asked == [str(tmp_path / "k.py"), "/elsewhere/entry.py"]
    assert not (tmp_path / "times").exists()


@pytest.mark.asyncio
async def test_one_at_a_time(tmp_path: Path) -> None:
    inspections = Inspections(nobody, program(tmp_path, inspected(), waits=True))
    tasks = [asyncio.ensure_future(inspections.inspect(ask(tmp_path))) for _ in range(3)]
    while not signs(tmp_path):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)  # time for the others to begin, if they did
    assert signs(tmp_path) == "+"
    (tmp_path / "go").touch()
    await asyncio.gather(*tasks)
    assert signs(tmp_path) == "+-" * 3


@pytest.mark.asyncio
async def test_closing_ends_those_of_the_document_only(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    inspections = Inspections(nobody, program(tmp_path, inspected(), waits=True))
    one, other = ask(tmp_path), ask(tmp_path / "other")
    tasks = [asyncio.ensure_future(inspections.inspect(a)) for a in (one, other)]
    while not signs(tmp_path):
        await asyncio.sleep(0.01)
    inspections.closed(one.uri)
    with pytest.raises(KernelBandError, match="closed"):
        await tasks[0]
    (tmp_path / "go").touch()
    assert (await tasks[1]).of.path == other.path
    assert signs(tmp_path) == "++-"  # the first never came to its end


def test_the_command_line_names_texts_and_settings(tmp_path: Path) -> None:
    given = ask(tmp_path, gpu="h200", python="/p", worker="ssh box", entry="bench")
    path = given.path
    assert arguments(given, Path("/f")) == [
        "inspect",
        "--json-lines",
        "--moves",
        f"{path}::kernel",
        "--entry=bench",
        "--gpu=h200",
        "--worker=ssh box",
        "--python=/p",
        "--overlay",
        f"{path}=/f/0.txt",
    ]
