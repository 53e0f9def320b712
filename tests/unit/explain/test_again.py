"""The command line that makes a run again, read by the command line itself: it asks for what the run was asked."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.cli.optimize import optimize
from kernelband.explain.again import Again, again, of_variant
from kernelband.history.records import BEFORE, SAVED
from kernelband.propose import ModelSettings
from kernelband.search import run
from kernelband.search.options import Options
from tests.unit.history.rows import run_row

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
maybe = st.none() | words
options = st.builds(
    Options,
    st.just("/w/k.py"),
    st.just("add"),
    entry=maybe,
    trials=st.none() | st.integers(1, 10**6),
    seconds=st.none() | st.floats(0.001, 1e6),
    gpu=st.sampled_from([None, "h100", "a100"]),
    worker=maybe,
    python=maybe,
    policy=st.sampled_from(["kernelband", "paper", "greedy"]),
    objective=st.sampled_from(["device", "call"]),
    seed=st.integers(-(2**40), 2**40),
    allowed=st.sampled_from([("exact", "reassociates"), ("exact", "reassociates", "lowers_precision")]),
    author=st.sampled_from(["rewriter", "both"]),
    model=st.builds(
        ModelSettings,
        st.from_regex("[a-z-]{1,9}", fullmatch=True),
        base_url=st.sampled_from(["http://localhost:8000/v1", "https://api.openai.com/v1"]),
        calls=st.integers(1, 99),
        price=st.just((1.25, 10.0)),
        dollars=st.none() | st.floats(0.01, 50),
        stream=st.booleans(),
    ),
)


def row_of(asked: Options, **more: Any) -> Any:
    return run_row(
        path=asked.path,
        kernel=asked.kernel,
        policy=asked.policy,
        objective=asked.objective,
        seed=asked.seed,
        trials_budget=asked.trials,
        seconds_budget=asked.seconds,
        options=asked.to_json(),
        **more,
    )


class SearchBegins(Exception):
    """In place of a search."""


def parsed(told: Again) -> Options:
    """What ``kernelband optimize`` asks of the search when it is given the line."""
    program, command, *arguments = shlex.split(told.command)
    assert (program, command) == ("kernelband", "optimize")
    asked: list[Options] = []

    def search(options: Options, *_: object, **__: object) -> None:
        asked.append(options)
        raise SearchBegins

    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("KERNELBAND_", "OPENAI_")):
                patch.delenv(name)
        patch.setenv("OPENAI_API_KEY", "k")
        patch.setattr(os.path, "exists", lambda _: True)
        patch.setattr(run, "optimize", search)
        with pytest.raises(SearchBegins):
            optimize.main([*arguments, "--json"], standalone_mode=False)
    return asked[0]


@settings(max_examples=40)
@given(options)
def test_it_asks_for_what_was_asked(asked: Options) -> None:
    got = parsed(again(row_of(asked), {}, {}))
    if asked.author == "rewriter":
        asked = evolve(asked, model=None)
    assert got == asked


def test_shells_take_any_name(tmp_path: Path) -> None:
    told = again(row_of(Options("/w/it's $HOME; x.py", "add")), {}, {}, db="/d b/h.db")
    assert shlex.split(told.command)[2] == "/w/it's $HOME; x.py::add"
    assert shlex.split(told.command)[-2:] == ["--db", "/d b/h.db"]
    with pytest.raises(click.exceptions.UsageError):  # so that the test above can fail
        optimize.make_context("optimize", ["--no-such-option"])
    assert of_variant("a1b2", 3) == ("kernelband show a1b2/3", "kernelband apply a1b2/3 --diff")


def test_what_may_make_it_another_search_is_said() -> None:
    row = row_of(Options("/w/k.py", "add", entry="bench.py::main", worker="env TOKEN=\u2026 python", seconds=5.0))
    base = {"/w/k.py": "a", "/w/b.py": "b", "/w/c.py": "c", "/x/bench.py": "d"}
    told = again(row, base, {**base, "/w/b.py": "B", "/w/c.py": None})
    assert "--entry /x/bench.py::main" in told.command
    assert [n for n in told.notes if "/w/k.py" in n] == []
    assert any("/w/b.py" in n and "changed since run a1b2c3" in n for n in told.notes)
    assert any("/w/c.py is gone" in n for n in told.notes)
    assert any("secret" in n for n in told.notes)
    assert any("in seconds" in n for n in told.notes)
    overlaid = evolve(row, options={**row.options, "overlaid": ["/w/b.py"]})
    assert any("unsaved buffer" in n for n in again(overlaid, base, {**base, "/w/b.py": "B"}).notes)
    lost = again(row, {"/w/k.py": "a"}, {"/w/k.py": "a"})
    assert "--entry bench.py::main" in lost.command
    assert any("start in that folder" in n for n in lost.notes)


@pytest.mark.parametrize(("against", "named", "unsaved"), [(BEFORE, False, True), (SAVED, False, False), ("HEAD~2", True, False)])
def test_what_an_edit_was_judged_against_is_said(against: str, named: bool, unsaved: bool) -> None:
    row = row_of(Options("/w/k.py", "add"))
    told = again(evolve(row, options={**row.options, "against": against}), {}, {})
    assert told.command.startswith("kernelband verify /w/k.py::add")
    assert ("HEAD~2" in shlex.split(told.command)) == named
    assert any("unsaved text" in n for n in told.notes) == unsaved


def test_an_entry_in_the_kernels_notebook_gets_its_whole_path() -> None:
    row = row_of(Options("/w/k.ipynb", "add", entry="k.ipynb::bench"))
    told = again(row, {"/w/k.ipynb": "a"}, {"/w/k.ipynb": "a"})
    assert "--entry /w/k.ipynb::bench" in told.command
    assert not any("start in that folder" in n for n in told.notes)
