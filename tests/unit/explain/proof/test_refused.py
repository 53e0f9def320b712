"""What is refused as a proof."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import KernelBandError, NotComparable, SourceError
from kernelband.explain.prooffile import proof_of, to_text
from kernelband.explain.proofshape import Proof
from kernelband.judge.protocol import PROTOCOL
from tests.unit.explain.proof.conftest import body_of, sealed
from tests.unit.search import test_given as given_edits


def test_cut_off(proof: Proof) -> None:
    data = to_text(proof).rstrip().encode()
    for at in {*range(0, len(data), max(1, len(data) // 150)), len(data) - 1}:
        with pytest.raises(SourceError):
            proof_of(data[:at], "p")


def test_edited_without_a_new_seal(proof: Proof) -> None:
    with pytest.raises(SourceError, match="edited or damaged"):
        proof_of(to_text(proof).replace('"seed": 0', '"seed": 1').encode(), "p")


def test_a_field_that_stands_there_twice(proof: Proof) -> None:
    with pytest.raises(SourceError):
        proof_of(b'{"kernel": "another"' + b"," + sealed(body_of(proof))[1:], "p")


@pytest.mark.parametrize(("protocol", "word"), [(PROTOCOL + 1, "newer"), (PROTOCOL - 1, "older")])
def test_another_protocol_whatever_it_holds(protocol: int, word: str) -> None:
    with pytest.raises(NotComparable, match=word):
        proof_of(sealed({"protocol": protocol, "unknown": [1]}), "p")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"proof"',
        "{}",
        '{"protocol": true, "seal": ""}',
        '{"protocol": "2", "seal": ""}',
        '{"protocol": NaN, "seal": ""}',
        '{"protocol": 2}',
        '{"protocol": 2, "protocol": 2, "seal": ""}',
        '{"protocol": 2, "seal": "", "x": 1e999}',
        '{"protocol": 2, "seal": "", "x": ' + "9" * 5000 + "}",
        '{"protocol": 2, "seal": "", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"protocol": 2, "seal": "", "x": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}",
    ],
    ids=lambda text: text[:40],
)
def test_what_is_no_proof(text: str) -> None:
    with pytest.raises(SourceError):
        proof_of(text.encode(), "p")
    with pytest.raises(SourceError):
        proof_of(b"\xff" + text.encode(), "p")


def put(body: dict[str, Any], at: str, value: Any) -> dict[str, Any]:
    """The body with another value at ``files.0.path``; ``value`` may be made of the one that is there."""
    inner: Any = body
    *steps, last = [int(s) if s.isdigit() else s for s in at.split(".")]
    for step in steps:
        inner = inner[step]
    inner[last] = value(inner[last]) if callable(value) else value
    return body


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ("seed", 0.5),
        ("seed", 1e300),
        ("seed", True),
        ("extra", 1),
        ("kernel", "k; rm -rf /"),
        ("kernel", ""),
        ("path", "other.py"),
        ("files", []),
        ("files", "abc"),
        ("files", {}),
        ("files.0.path", "/etc/k.py"),
        ("files.0.path", "../k.py"),
        ("files.0.path", "a/../../k.py"),
        ("files.0.path", "C:\\k.py"),
        ("files.0.before", "0" * 63),
        ("files.0.after", lambda x: x + "\n"),
        ("files.0.edits", []),
        ("files.0.edits.0.start", -1),
        ("files.0.edits.0.end", lambda x: x + 1),
        ("what", "\x1b[2J"),
        ("cases", []),
        ("cases.0.role", "timed"),
        ("cases.0.calls", "1"),
        ("world.triton", None),
        ("world.settings", []),
        ("world.settings", {"TRITON_X": "\x07"}),
        ("correctness", "wrong"),
        ("fault", "crashed"),
        ("integrity", "suspect"),
        ("not_exercised", ["k.f"]),
        ("numerics", "lowers"),
        ("objective", "fame"),
        ("mode", "guessed"),
        ("pairs", [[]]),
        ("pairs", [{}]),
    ],
)
def test_shape_and_sense_whatever_the_seal_says(proof: Proof, at: str, value: Any) -> None:
    with pytest.raises(SourceError, match="isn't a proof"):
        proof_of(sealed(put(body_of(proof), at, value)), "p")


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ("figures.score.value", lambda x: x * 1.01),
        ("figures.score.low", lambda x: x * 1.01),
        ("figures.weighted", 9.0),
        ("figures.finalists", 0),
        ("figures.finalists", 1000),
        ("figures.cases.0.device_before_us", lambda x: x + 1),
        ("figures.cases.0.method", "wall"),
        ("figures.cases", []),
        ("figures", None),
        ("performance", "inconclusive"),
        ("mode", "predicted"),
        ("pairs", []),
        ("pairs", lambda x: [p for p in x if p[0] != "baseline"]),
        ("pairs", lambda x: [p for p in x if p[2] == 0]),
        ("pairs.0.5", 0.0),
        ("pairs.0.5", -1.0),
        ("pairs.0.1", "another case"),
        ("pairs.0.4", "energy"),
        ("pairs", lambda x: [[*p[:5], p[5] * (1 + 0.1 * p[2]), *p[6:]] for p in x]),
        ("cases.0.made_up", "no"),
        ("stress.0.used", 1),
    ],
)
def test_figures_that_dont_follow(measured: Proof, at: str, value: Any) -> None:
    body = body_of(measured)
    body["pairs"].sort(key=lambda p: p[0] != "final")
    proof_of(sealed(body), "p")
    with pytest.raises(SourceError, match="isn't a proof"):
        proof_of(sealed(put(body, at, value)), "p")


def test_a_slower_variant_with_figures_that_follow(measured: Proof) -> None:
    """Whoever turns the pairs round and computes the figures anew has proven that it isn't faster."""
    turned = tuple(evolve(p, original_us=p.variant_us, variant_us=p.original_us) if p.stage == "final" else p for p in measured.pairs)
    proof = evolve(measured, pairs=turned)
    assert measured.figures is not None
    made = proof.compared()
    figures = evolve(measured.figures, score=made.score, weighted=made.weighted, worst=made.worst, cases=made.cases)
    with pytest.raises(SourceError, match="don't follow"):
        proof_of(to_text(evolve(proof, figures=figures)).encode(), "p")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x, max_size=3),
    max_leaves=8,
)


@given(st.data())
@settings(max_examples=250, deadline=None)
def test_any_other_value_anywhere(worlds: dict[bool, tuple[given_edits.World, Proof]], data: st.DataObject) -> None:
    """One sentence, or a proof that could be written again: never another error."""
    body = body_of(worlds[data.draw(st.booleans())][1])
    at: Any = body
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
            at = at[key]
            continue
        at[key] = data.draw(JSON)
        break
    try:
        proof = proof_of(sealed(body), "p")
    except (SourceError, NotComparable) as error:
        assert error.message.isprintable()  # noqa: PT017 - it need not be raised
    else:
        assert proof_of(to_text(proof).encode(), "p") == proof


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(KernelBandError):
        proof_of(data, "p")
