"""What a client shows before a run: the plan; and how it is told of what can't be done, with a word for what helps."""

from __future__ import annotations

from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from kernelband.history import Store
from kernelband.history.view import RunView
from kernelband.lsp.features.plan import BEFORE, Pace, pace_of
from kernelband.search.budget import PREPARATION
from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.lsp.editor import PROFILES, Editor, RefusedHere, editor
from tests.e2e.lsp.test_showing import opens_itself
from tests.e2e.searched import Searched
from tests.unit.history.rows import run_row

TEST = """from scale import scale
import torch


def test_scale():
    scale(torch.randn(8))
"""


async def planned(ed: Editor) -> dict[str, Any]:
    answer = await ed.command("plan", ed.uri, "scale_kernel")
    return {**answer, "entry": (answer["entry"]["entry"], answer["entry"]["how"])}


@pytest.mark.asyncio
async def test_what_the_next_run_does_is_told_and_nothing_runs_for_it(home: Home) -> None:
    async with editor(home, PROFILES[0], trusted=False) as ed:
        ed.open()
        first = await planned(ed)
        assert "isn't trusted" in first.pop("refusal")
        assert first == {
            "worker": None,
            "python": home.python,
            "gpu": None,
            "predicts": "H100",
            "entry": ("scale.py::bench", "found"),
            "pace": None,
        }
        assert "isn't trusted" in await ed.hover("scale_kernel")
        (home.work / "pyproject.toml").write_text('[tool.kernelband]\nentry = "test_scale.py::test_scale"\n')
        (home.work / "test_scale.py").write_text(TEST)
        assert (await planned(ed))["entry"] == ("test_scale.py::test_scale", "repository")
        await ed.command("chooseEntry", ed.uri, "scale_kernel", "bench")
        await ed.command("chooseDevice", ed.uri, "a100")
        chosen = await planned(ed)
        assert (chosen["entry"], chosen["gpu"], chosen["predicts"]) == (("scale.py::bench", "chosen"), "a100", "A100")
        assert ed.messages == []


@pytest.mark.asyncio
async def test_a_kernel_that_nothing_shows_says_why(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        ed.open(KERNEL.partition("\n\ndef test_scale")[0] + "\n")
        entry = (await ed.command("plan", ed.uri, "scale_kernel"))["entry"]
        assert (entry["entry"], entry["how"]) == (None, "none")
        assert "No test or bench function was found that runs scale_kernel. " in entry["why"]
        assert "--" not in entry["why"]
        await ed.eventually(lambda: ed.hover("scale_kernel"), lambda said: "It needs something that runs the kernel: No test" in said)

        # one can be drafted, and is taken once it is there
        draft = await ed.command("draftEntry", ed.uri, "scale_kernel")
        assert (draft["uri"], draft["appended"], draft["entry"]) == ((home.work / "bench_scale.py").as_uri(), False, "bench_scale")
        assert not (home.work / "bench_scale.py").exists()
        (home.work / "bench_scale.py").write_text(draft["text"])
        assert (await planned(ed))["entry"] == ("bench_scale.py::bench_scale", "found")
        with pytest.raises(RefusedHere, match="there already"):
            await ed.command("draftEntry", ed.uri, "scale_kernel")


@pytest.mark.asyncio
async def test_the_pace_is_that_of_the_last_search(searched: Home, one_search: Searched) -> None:
    with Store.read(searched.db) as store:
        (row,) = store.rows("SELECT seconds_used FROM runs")
    async with editor(searched, PROFILES[0]) as ed:
        ed.open()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        pace = (await planned(ed))["pace"]
        assert pace["run"] == one_search.run
        assert pace["before_s"] > 0 < pace["trial_s"]
        assert pace["before_s"] + 3 * pace["trial_s"] + pace["final_s"] == pytest.approx(row["seconds_used"], abs=0.02)


def test_a_run_without_trials_and_one_that_judged_an_edit_have_no_pace() -> None:
    def run(identity: str, *, trials: int = 4, policy: str = "kernelband", state: str = "finished") -> RunView:
        clock = {"start": 1.0, "capture": 2.0, "baseline": 3.0, "final": 4.0, "check": 5.0}
        row = run_row(identity, state=state, policy=policy, clock=clock, seconds_used=30.0)
        return RunView.of(row, trials, now=0.0)

    assert BEFORE == PREPARATION
    assert pace_of([run("a", trials=0), run("b", policy="given"), run("c", state="interrupted"), run("d"), run("e")]) == Pace(
        "d", 5.0, 6.0, 4.0
    )
    assert pace_of([]) is None


@pytest.mark.asyncio
async def test_what_can_t_be_done_comes_with_what_helps_where_the_client_has_buttons(home: Home) -> None:
    refused: list[Any] = []

    async def told(ed: Editor) -> list[Any]:
        with pytest.raises((JsonRpcException, RefusedHere), match="isn't trusted"):
            await ed.command("optimize", ed.uri, "scale_kernel")
        return [message.message for message in ed.client.messages]

    async with editor(home, PROFILES[0], trusted=False, adapt=opens_itself) as ed:
        ed.client.feature("kernelband/refused")(lambda params: refused.append(params))  # noqa: PLW0108 - pygls writes on what it gets
        ed.open()
        assert await told(ed) == []
        (one,) = refused
        assert (one.uri, one.kernel, one.run, one.remedies, one.warning) == (ed.uri, "scale_kernel", "", ["trust"], False)
        assert "isn't trusted" in one.message

        # a run that fails says it once, by what its process said
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": home.work.as_uri(), "trusted": True}]})
        (home.work / "scale.py").write_text(KERNEL.partition("\n\ndef test_scale")[0] + "\n")
        ed.put_text((home.work / "scale.py").read_text())
        run = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]
        end = await ed.ended(run)
        assert end.state == "failed"

        async def both() -> list[Any]:
            return [*refused]

        (_, two) = await ed.eventually(both, lambda found: len(found) > 1)  # it comes after the run's end
        assert (two.run, two.remedies) == (run, ["entry"])
        assert two.message == f"scale_kernel was not optimized: {end.error}"
        assert "--" not in two.message
        assert ed.client.messages == []

    async with editor(home, PROFILES[1], trusted=False) as ed:  # one without buttons hears it in a message, as ever
        ed.open()
        assert len(await told(ed)) == 1
