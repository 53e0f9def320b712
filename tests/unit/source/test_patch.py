"""Patch algebra: edits, differences and compositions are exact, and stale text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import SourceError, StaleText
from kernelband.source import between, compose, make_patch
from kernelband.source.model import Edit, Patch, Span

ALPHABET = st.sampled_from("ab\n\r\f\té\U0001d4b3 ")
TEXT = st.text(ALPHABET, max_size=30)


@st.composite
def edits(draw: st.DrawFn, text: str) -> list[Edit]:
    marks = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return draw(
        st.permutations([Edit(Span(a, b), draw(st.text(ALPHABET, max_size=4))) for a, b in zip(marks[::2], marks[1::2], strict=False)])
    )


def by_hand(text: str, given: list[Edit]) -> str:
    for edit in sorted(given, key=lambda e: (e.span.start, e.span.end), reverse=True):
        text = text[: edit.span.start] + edit.new + text[edit.span.end :]
    return text


@given(st.data(), TEXT)
def test_edits_do_what_they_say_in_any_order(data: st.DataObject, text: str) -> None:
    wanted = data.draw(edits(text))
    if len({e.span for e in wanted if e.span.start == e.span.end}) < sum(e.span.start == e.span.end for e in wanted):
        return  # two insertions at one place: their order is the order given, tested below
    patch = make_patch({"a": text}, {"a": wanted})
    assert patch.apply({"a": text}) == {"a": by_hand(text, wanted)}
    for file in patch.files:
        assert all(text[e.span.start : e.span.end] != e.new for e in file.edits)
        assert list(file.edits) == sorted(file.edits, key=lambda e: e.span)


def test_insertions_at_one_place_stay_in_the_order_given_and_before_a_replacement_there() -> None:
    at = Span(1, 1)
    patch = make_patch({"a": "xyz"}, {"a": [Edit(Span(1, 2), "Y"), Edit(at, "1"), Edit(at, "2")]})
    assert patch.apply({"a": "xyz"})["a"] == "x12Yz"


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ([Edit(Span(0, 2), "a"), Edit(Span(1, 3), "b")], "overlap at line 1"),
        ([Edit(Span(2, 9), "a")], "outside its 4 characters"),
        ([Edit(Span(-1, 0), "a")], "outside its 4 characters"),
        ([Edit(Span(3, 2), "a")], "outside its 4 characters"),
    ],
)
def test_overlaps_and_strays_are_refused(given_: list[Edit], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        make_patch({"a": "xy\nz"}, {"a": given_})
    with pytest.raises(SourceError, match="isn't part of the program"):
        make_patch({}, {"a": given_})


@given(TEXT, TEXT)
def test_between_leads_from_one_to_the_other(old: str, new: str) -> None:
    patch = between({"a": old, "b": "same"}, {"a": new, "b": "same"})
    assert patch.apply({"a": old, "b": "same"}) == {"a": new, "b": "same"}
    assert (patch == Patch()) == (old == new)


def test_between_changes_only_the_characters_that_differ() -> None:
    old = "".join(f"line {i}\n" for i in range(200))
    patch = between({"a": old}, {"a": old.replace("line 77\n", "line 7x7\n").replace("line 150\n", "")})
    assert [(old[e.span.start : e.span.end], e.new) for e in patch.files[0].edits] == [("", "x"), ("line 150\n", "")]


def test_a_variant_makes_no_files() -> None:
    with pytest.raises(SourceError, match="doesn't make them"):
        between({"a": ""}, {"b": ""})


@given(st.data(), TEXT)
def test_compose_is_both_in_a_row(data: st.DataObject, text: str) -> None:
    texts = {"a": text, "b": text + "b"}
    first = make_patch(texts, {p: data.draw(edits(t)) for p, t in texts.items() if data.draw(st.booleans())})
    middle = first.apply(texts)
    second = make_patch(middle, {p: data.draw(edits(t)) for p, t in middle.items() if data.draw(st.booleans())})
    both = compose(first, second, texts)
    assert both.apply(texts) == second.apply(middle)
    assert compose(first, Patch(), texts).apply(texts) == middle
    assert compose(Patch(), second, middle).apply(middle) == second.apply(middle)


@given(st.data(), TEXT)
def test_there_and_back_is_nothing(data: st.DataObject, text: str) -> None:
    first = make_patch({"a": text}, {"a": data.draw(edits(text))})
    middle = first.apply({"a": text})
    assert compose(first, between(middle, {"a": text}), {"a": text}).apply({"a": text}) == {"a": text}


def test_compose_leaves_alone_what_both_left_alone() -> None:
    text = "BLOCK = 128\nkeep = 1\nwarps = 4\n"
    first = make_patch({"a": text}, {"a": [Edit(Span(8, 11), "256")]})
    second = make_patch(first.apply({"a": text}), {"a": [Edit(Span(8, 11), "512"), Edit(Span(29, 30), "8")]})
    both = compose(first, second, {"a": text})
    assert [(text[e.span.start : e.span.end], e.new) for e in both.files[0].edits] == [("128", "512"), ("4", "8")]
    back = make_patch(both.apply({"a": text}), {"a": [Edit(Span(8, 11), "128")]})
    assert [e.new for e in compose(both, back, {"a": text}).files[0].edits] == ["8"]


@given(TEXT, TEXT, TEXT)
def test_stale_text_is_refused(old: str, new: str, other: str) -> None:
    patch = between({"a": old}, {"a": new})
    if not patch.files or other == old:
        return
    with pytest.raises(StaleText, match="has changed since"):
        patch.apply({"a": other})
    with pytest.raises(StaleText, match="is gone"):
        patch.apply({})
    if other != new:
        with pytest.raises(StaleText):
            compose(patch, between({"a": other}, {"a": other + "x"}), {"a": old})
