"""Several folders in one window: a branch's kernels in all that may be looked at, each once; a failure that all share is told once."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from lsprotocol import types

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.lsp.editor import PROFILES, editor


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    """A repository with a committed kernel, and one in a folder of it that is new."""
    home = Home(tmp_path, worker_python)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=home.work, check=True, capture_output=True)
    (home.work / "inner").mkdir()
    (home.work / "inner" / "new.py").write_text(KERNEL.replace("scale_kernel", "new_kernel"))
    (home.work / "newer.py").write_text(KERNEL.replace("scale_kernel", "newer_kernel"))
    return home


def of(*folders: Path):
    def adapt(params: types.InitializeParams) -> None:
        params.workspace_folders = [types.WorkspaceFolder(f.as_uri(), f.name) for f in folders]

    return adapt


@pytest.mark.asyncio
async def test_every_kernel_of_the_branch_once(home: Home, tmp_path: Path) -> None:
    plain, strange = tmp_path / "plain", tmp_path / "strange"
    plain.mkdir()
    strange.mkdir()
    async with editor(home, PROFILES[0], adapt=of(home.work, home.work / "inner", plain, strange), trials=1) as ed:
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": plain.as_uri(), "trusted": True}]})
        found = await ed.command("optimizeChanged", "HEAD")
        assert sorted(k["kernel"] for k in found["kernels"]) == ["new_kernel", "newer_kernel"]

        async def messages() -> list[str]:
            return [m.message for m in ed.client.messages]

        (said,) = await ed.eventually(messages, bool)
        assert said.startswith("Some folders are left out. ")
        assert f"Nothing is run in {strange}" in said
        await ed.command("stop_all")


@pytest.mark.asyncio
async def test_one_folder_of_an_older_client(home: Home) -> None:
    def adapt(params: types.InitializeParams) -> None:
        params.workspace_folders = None

    async with editor(home, PROFILES[0], adapt=adapt, trials=1) as ed:
        found = await ed.command("optimizeChanged", "HEAD")
        assert len(found["kernels"]) == 2
        await ed.command("stop_all")


@pytest.mark.asyncio
async def test_what_all_would_fail_of_is_told_once(home: Home) -> None:
    async with editor(home, PROFILES[0], search=["/nowhere/kernelband"]) as ed:
        assert len((await ed.command("optimizeChanged", "HEAD"))["kernels"]) == 2

        async def failed() -> list[str]:
            return [c.kernel for c in ed.changes if c.state == "failed"]

        async def messages() -> list[str]:
            return [m.message for m in ed.client.messages]

        await ed.eventually(failed, bool)
        await ed.eventually(messages, bool)
        await asyncio.sleep(1)  # for a second one, that doesn't come
        assert len({c.kernel for c in ed.changes}) == 1
        (said,) = [m.message for m in ed.client.messages]
        assert "was not optimized" in said


@pytest.mark.asyncio
async def test_a_kernel_without_a_test_keeps_no_other_one_from_its_turn(home: Home) -> None:
    for file in (home.work / "inner" / "new.py", home.work / "newer.py"):
        file.write_text(file.read_text().partition("def test_scale")[0])
    async with editor(home, PROFILES[0], trials=1) as ed:
        assert len((await ed.command("optimizeChanged", "HEAD"))["kernels"]) == 2

        async def failed() -> set[str]:
            return {c.kernel for c in ed.changes if c.state == "failed"}

        assert await ed.eventually(failed, lambda found: len(found) == 2) == {"new_kernel", "newer_kernel"}
        assert all("No test or bench function was found" in m.message for m in ed.client.messages)
