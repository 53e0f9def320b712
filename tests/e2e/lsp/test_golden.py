"""What is said of a kernel on every surface is what was recorded: a change of the house changes no word, or the record is written anew."""

from __future__ import annotations

import json

import pytest

from tests.e2e.lsp.editor import LONG_S
from tests.golden.surfaces import RECORD, record

SOME = ("verified-", "then_predicted-", "two-in")  # `python -m tests.golden.surfaces` looks at all


@pytest.mark.asyncio
async def test_the_surfaces_say_what_was_recorded() -> None:
    known = json.loads(RECORD.read_text())
    found = await record(SOME, known, LONG_S)
    assert len(found) > 15
    for name, said in found.items():
        assert said == known[name], name


def test_a_kernel_has_few_actions_and_they_begin_differently() -> None:
    """On every surface that is recorded."""
    for name, said in json.loads(RECORD.read_text()).items():
        found = said["actions"]
        assert len(found) <= 5, name
        assert len({title[:30] for title in found}) == len(found), name
