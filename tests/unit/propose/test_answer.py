"""Answers as models write them: the form that was asked for, and what comes instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.propose.model.answer import MAX_SENTENCE, read

LABELS = ("k", "Layer.run", "helper.py::act")
GOOD = """Here you are.

## Variant 1: **wider** blocks, `BLOCK` 64 -> 256
Why: 16-bit loads are narrow

```python k
def k(): pass
```
```python Layer.run
def run(self): pass
```

## Variant: tf32
Why: tensor cores
Numerics: lowers_precision

```py k
def k(): return 1
```
"""


def test_the_form_that_is_asked_for() -> None:
    answer = read(GOOD, LABELS)
    one, two = answer.variants
    assert (one.what, one.why, one.lowers) == ("wider** blocks, BLOCK 64 -> 256", "16-bit loads are narrow", False)
    assert one.blocks == {"k": "def k(): pass\n", "Layer.run": "def run(self): pass\n"}
    assert (two.what, two.why, two.lowers, list(two.blocks)) == ("tf32", "tensor cores", True, ["k"])
    assert answer.problems == ()


def test_a_block_without_a_name_is_known_by_its_function() -> None:
    answer = read("```python\n@triton.jit\ndef act(x): pass\n```\n~~~\ndef run(self): pass\n~~~", LABELS)
    assert list(answer.variants[0].blocks) == ["helper.py::act", "Layer.run"]
    assert answer.variants[0].what == "helper.py::act, Layer.run rewritten"


def test_thinking_aloud_is_passed_over() -> None:
    answer = read("<think>\n```python k\ndef k(): wrong\n```\n</think>\n" + GOOD, LABELS)
    assert [v.blocks["k"] for v in answer.variants] == ["def k(): pass\n", "def k(): return 1\n"]


def test_other_fences_are_passed_over() -> None:
    assert read("```text\ndef k(): no\n```\n```bash\nrm -rf /\n```\n" + GOOD, LABELS) == read(GOOD, LABELS)


def test_an_unknown_function_spoils_its_variant_only() -> None:
    answer = read(GOOD.replace("```python k", "```python other"), LABELS)
    assert [v.what for v in answer.variants] == ["tf32"]
    assert "There is no function other that may be rewritten: k, Layer.run, helper.py::act." in answer.problems[0]


def test_the_same_function_twice_is_a_problem() -> None:
    answer = read("## Variant: x\n```python k\ndef k(): pass\n```\n```python k\ndef k(): return\n```", LABELS)
    assert (answer.variants, answer.problems) == ((), ("x: It has k twice.",))


def test_what_is_cut_off_is_not_used() -> None:
    answer = read(GOOD[: GOOD.rindex("return 1") + 8], LABELS, complete=False)
    assert [v.what for v in answer.variants] == ["wider** blocks, BLOCK 64 -> 256"]
    assert any("cut off" in p for p in answer.problems)
    answer = read("```python k\ndef k(): pass", LABELS)  # a server that says it is complete
    assert answer.variants == ()
    assert "cut off" in answer.problems[0]


@pytest.mark.parametrize(
    ("title", "what"),
    [
        ("Variant 1: wider", "wider"),
        ("Variant 12 - wider", "wider"),
        ("**Variant (2):** wider", "wider"),
        ("Candidate #3. wider", "wider"),
        ("Variant: 1024 a program", "1024 a program"),  # a number of what it does is no number of a list
        ("Variant 2: 8 warps", "8 warps"),
    ],
)
def test_the_number_of_a_variant_is_not_its_name(title: str, what: str) -> None:
    assert [v.what for v in read(f"## {title}\n```python k\ndef k(): pass\n```", LABELS).variants] == [what]


def test_nothing_usable_is_said() -> None:
    for text in ("", "I can't help with that.", "def k(): pass", "\0" * 10, "#" * 1000):
        assert read(text, LABELS).problems == ("There is no fenced block with one of the functions in it.",)


def test_a_sentence_is_one_short_line_without_control_characters() -> None:
    answer = read(f"## Variant: \x1b[31m{'long ' * 200}\n```python k\ndef k(): pass\n```", LABELS)
    assert len(answer.variants[0].what) <= MAX_SENTENCE
    assert answer.variants[0].what.isprintable()


PIECES = [
    "## Variant: a\n",
    "```",
    "```python k\n",
    "~~~~\n",
    "def k():\n    pass\n",
    "Why: b\n",
    "<think>",
    "</think>",
    "\n\n",
    "> ",
    "- ",
    "    ",
    "\t",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)), st.booleans())
def test_any_text_can_be_read(text: str, complete: bool) -> None:
    answer = read(text, LABELS, complete=complete)
    assert answer.variants or answer.problems
    for written in answer.variants:
        assert written.blocks
        assert set(written.blocks) <= set(LABELS)
        assert written.what.isprintable()
