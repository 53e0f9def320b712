"""How a text stands to its variants, while it is typed in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kernelband.history import trials
from kernelband.history.records import GIVEN
from kernelband.lsp import standings as module
from kernelband.lsp.findings import MOST_OF_A_KERNEL, Applicable, Findings
from kernelband.lsp.index import Snapshot
from kernelband.lsp.standings import Standings
from kernelband.lsp.text import Lines
from kernelband.source import between, find_kernels, form, patch_to_json, program_in
from kernelband.source.model import Place
from tests.unit.lsp.test_findings import TEXT, final, measured, trial, variant, write


@pytest.fixture(autouse=True)
def a_short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """After which a text is looked at."""
    monkeypatch.setattr(module, "REST_S", 0.02)


async def until(wanted: Callable[[], bool]) -> None:
    end = time.monotonic() + 100
    while not wanted():
        assert time.monotonic() < end, "it never came to that"
        await asyncio.sleep(0.01)


VARIANT = TEXT.replace("mask=at < n", "mask=(at < n)").replace("BLOCK=64", "BLOCK=128")


@pytest.mark.asyncio
async def test_a_variant_that_is_typed_in_is_none_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    patch = patch_to_json(between({str(path): TEXT}, {str(path): VARIANT}))
    rows = trials.Rows(variants=(variant("a1", 1, patch=patch),), trials=(trial("a1", 1),), finals=(final("a1", 1, 1.5),))
    write(db, measured("a1", str(path)), rows)
    findings = Findings(db)
    findings.refresh()
    told: list[int] = []
    looked: list[int] = []
    held = {"text": VARIANT}

    def history() -> Findings:
        looked.append(1)
        return findings

    standings = Standings(history, lambda: {str(path): held["text"]}, lambda: told.append(1))

    def look(text: str) -> None:
        held["text"] = text
        standings.look(Snapshot(path.as_uri(), 1, text, Lines(text), find_kernels(str(path), text)))

    def accepted() -> int | None:
        standing = standings.of(path.as_uri(), "add")
        return standing.accepted if standing is not None else None

    look(VARIANT)
    await until(lambda: accepted() == 1)
    monkeypatch.setattr(module, "REST_S", 1000.0)
    look("# above\n" + VARIANT + "\n# below\n")
    assert accepted() == 1
    told.clear()
    look(VARIANT.replace("1.0", "2.0"))
    assert accepted() is None  # without a look
    standing = standings.of(path.as_uri(), "add")
    assert standing is not None
    assert "changed since run a1" in standing.stale
    assert standing.offers == ()
    assert told
    looked.clear()
    for number in range(30):
        await asyncio.sleep(0)
        look(VARIANT.replace("1.0", f"{number}.5"))
        assert accepted() is None
    assert not looked, "nobody looks as long as keys come"
    monkeypatch.setattr(module, "REST_S", 0.02)
    look(VARIANT)
    await until(lambda: accepted() == 1)
    findings.close()


@pytest.mark.asyncio
async def test_a_kernel_that_no_library_can_read_takes_nothing_from_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    text = TEXT + "\n\n" + TEXT.replace("def add", "def odd").replace("add[", "odd[").replace("def run", "def run_odd")
    for kernel in ("add", "odd"):
        patch = patch_to_json(between({str(path): text}, {str(path): text.replace("BLOCK=64", "BLOCK=128")}))
        rows = trials.Rows(variants=(variant(kernel, 1, patch=patch),), trials=(trial(kernel, 1),), finals=(final(kernel, 1, 1.5),))
        write(db, measured(kernel, str(path), kernel=kernel), rows, text)
    findings = Findings(db)
    findings.refresh()
    load = findings.load

    def fails(run: str, numbers: Sequence[int]) -> Applicable:
        if run == "odd":
            raise ValueError("source code string cannot contain null bytes")
        return load(run, numbers)

    monkeypatch.setattr(findings, "load", fails)
    standings = Standings(lambda: findings, lambda: {str(path): text}, lambda: None)
    standings.look(Snapshot(path.as_uri(), 1, text, Lines(text), find_kernels(str(path), text)))
    await until(lambda: standings.of(path.as_uri(), "odd") is not None)
    add, odd = standings.of(path.as_uri(), "add"), standings.of(path.as_uri(), "odd")
    assert add is not None
    assert add.accepted == 0
    assert odd is not None
    assert odd.finding.runs == ()
    findings.close()


@pytest.mark.asyncio
async def test_a_text_that_belongs_to_an_older_run_is_told_of_that_one(tmp_path: Path) -> None:
    """A variant is put in, edited, the edit judged, another search begun from there; and undo, or git, goes back through all of it."""
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    edited = VARIANT.replace("1.0", "2.0")
    faster = edited.replace("BLOCK=128", "BLOCK=256")
    for number, (run, before, after, policy) in enumerate(
        [("a1", TEXT, VARIANT, "bandit"), ("b1", VARIANT, edited, GIVEN), ("c1", edited, faster, "bandit")]
    ):
        patch = patch_to_json(between({str(path): before}, {str(path): after}))
        rows = trials.Rows(variants=(variant(run, 1, patch=patch),), trials=(trial(run, 1),), finals=(final(run, 1, 1.5),))
        write(db, measured(run, str(path), created=float(number), policy=policy), rows, before)
    findings = Findings(db)
    findings.refresh()
    held: dict[str, str] = {}
    standings = Standings(lambda: findings, lambda: held, lambda: None)

    def now() -> tuple[str, int | None, bool] | None:
        standing = standings.of(path.as_uri(), "add")
        telling = standing.finding.telling if standing is not None else None
        return (telling.id, standing.accepted, bool(standing.stale)) if standing is not None and telling is not None else None

    async def stands(text: str, *wanted: object) -> None:
        held[str(path)] = text
        standings.look(Snapshot(path.as_uri(), 1, text, Lines(text), find_kernels(str(path), text)))
        await until(lambda: now() == wanted)

    await stands(faster, "c1", 1, False)
    await stands(edited, "c1", 0, False)
    await stands(VARIANT, "a1", 1, False)  # not the original of the edit: a variant
    await stands(TEXT, "a1", 0, False)
    await stands(TEXT.replace("1.0", "3.0"), "c1", None, True)
    findings.close()


@pytest.mark.asyncio
async def test_the_text_is_judged_against_any_run(tmp_path: Path) -> None:
    """An older run than the newest, and more of them than are told of; at once, without waiting for the text to rest."""
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    for number in range(MOST_OF_A_KERNEL + 2):  # the oldest first
        run, other = f"a{number}", TEXT.replace("BLOCK=64", f"BLOCK={128 + number}")
        patch = patch_to_json(between({str(path): TEXT}, {str(path): other}))
        rows = trials.Rows(variants=(variant(run, 1, patch=patch),), trials=(trial(run, 1),), finals=(final(run, 1, 1.5),))
        write(db, measured(run, str(path), created=float(number)), rows)
    findings = Findings(db)
    findings.refresh()
    held: dict[str, str] = {}
    standings = Standings(lambda: findings, lambda: held, lambda: None)

    async def against(run: str, text: str) -> tuple[int | None, str]:
        held[str(path)] = text
        return await standings.against(run, str(path), "add")

    formatted = TEXT.replace("add[(1,)](x, 64, BLOCK=64)", "add[(1,)](\n        x, 64, BLOCK=128\n    )")
    assert "a0" not in [run.id for run in findings.find(str(path), "add").runs]
    assert await against("a0", formatted) == (1, "")
    assert await against("a0", TEXT) == (0, "")
    accepted, stale = await against("a1", formatted)
    assert accepted is None
    assert "run in k.py has changed since run a1" in stale
    assert (await against("a0", "x = (\n"))[0] is None
    assert (await against("a0", "x = 1\n"))[0] is None
    assert await against("gone", formatted) == (None, "")
    held.clear()
    assert await standings.against("a0", str(path), "add") == (None, "")
    findings.close()


@pytest.mark.asyncio
async def test_an_edit_that_was_judged_is_known_whatever_came_out(tmp_path: Path) -> None:
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    patch = patch_to_json(between({str(path): TEXT}, {str(path): VARIANT}))
    rows = trials.Rows(variants=(variant("a1", 1, patch=patch),), trials=(trial("a1", 1, correctness="wrong"),))
    write(db, measured("a1", str(path), policy=GIVEN), rows)
    findings = Findings(db)
    findings.refresh()
    standings = Standings(lambda: findings, lambda: {str(path): VARIANT}, lambda: None)
    assert await standings.against("a1", str(path), "add") == (1, "")
    findings.close()


@pytest.mark.asyncio
async def test_a_variant_that_was_wrong_is_none_that_anybody_has(tmp_path: Path) -> None:
    """Its form is written down: asked about that run it is known, and no lens says that it is a variant."""
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    forms = [form(program_in({str(path): text}, str(path), "add")) for text in (TEXT, VARIANT)]
    made = patch_to_json(between({str(path): TEXT}, {str(path): VARIANT}))
    other = patch_to_json(between({str(path): TEXT}, {str(path): TEXT.replace("BLOCK=64", "BLOCK=256")}))
    rows = trials.Rows(
        variants=(variant("a1", 0, form=forms[0]), variant("a1", 1, patch=made, form=forms[1]), variant("a1", 2, patch=other)),
        trials=(trial("a1", 1, correctness="wrong"), trial("a1", 2)),
        finals=(final("a1", 2, 1.5),),
    )
    write(db, measured("a1", str(path)), rows)
    findings = Findings(db)
    findings.refresh()
    held = {str(path): VARIANT}
    stands = module.standing(findings, Place(str(path), "add"), held, module.Memory())
    assert (stands.accepted, stands.taken) == (None, None)
    assert "has changed since run a1" in stands.stale
    assert await Standings(lambda: findings, lambda: held, lambda: None).against("a1", str(path), "add") == (1, "")
    findings.close()
