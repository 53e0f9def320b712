"""A proof: what it keeps of a run, which files it is about, what is refused as one, and what confirms it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import KernelBandError, NotComparable, SourceError
from kernelband.explain.confirm import confirm, differs
from kernelband.explain.kept import read
from kernelband.explain.prooffile import proof_of, read_proof, to_text
from kernelband.explain.proofshape import Proof, StressLine, World
from kernelband.explain.prove import ground, prove
from kernelband.hardware import find_device
from kernelband.history import Store, runs, this_process
from kernelband.history.records import LEFT_OUT, CaseRow
from kernelband.judge.protocol import PROTOCOL
from kernelband.judge.result import Ratio
from kernelband.search.against import given_edit
from kernelband.source import between
from kernelband.source.model import text_hash
from tests.unit.search import test_given as given_edits
from tests.unit.search.fake_lab import TEXT, FakeExecutor, FakeLab

edited = given_edits.edited
STRESS = [
    {"case": "c" * 8, "name": "large values", "used": True, "why": None, "seconds": 0.1},
    {"case": "c" * 8, "name": "no bias", "used": False, "why": "raises in /home/somebody/code/k.py", "seconds": 0.1},
]


class StressedLab(FakeLab):
    """Says what a check was stressed with."""

    def fresh(self, name: str) -> FakeExecutor:
        return _Stressed(self)


class _Stressed(FakeExecutor):
    def call(self, operation: str, *rest: Any, **more: Any) -> dict[str, Any]:
        return super().call(operation, *rest, **more) | ({"stress": STRESS} if operation == "check" else {})


def proof_at(db: Path) -> Proof:
    with Store.read(db) as store:
        return prove(read(store, runs.find(store, "last")), 1)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, tuple[given_edits.World, Proof]]:
    """A proof of an edit that was measured, and one of an edit that was predicted."""
    out: dict[bool, tuple[given_edits.World, Proof]] = {}
    for measured in (True, False):
        world = given_edits.World(tmp_path_factory.mktemp("proof"))
        world.judge(edited(256), measured=measured, lab=StressedLab)
        out[measured] = (world, proof_at(world.db))
    predicted = out[False][1]  # its laboratory forecasts nothing
    out[False] = (out[False][0], evolve(predicted, correctness="interpreted", tier="likely faster", fact="wider accesses"))
    return out


@pytest.fixture(params=[True, False], ids=["measured", "predicted"])
def proof(request: pytest.FixtureRequest, worlds: dict[bool, tuple[given_edits.World, Proof]]) -> Proof:
    return worlds[request.param][1]


@pytest.fixture
def measured(worlds: dict[bool, tuple[given_edits.World, Proof]]) -> Proof:
    return worlds[True][1]


@pytest.fixture
def predicted(worlds: dict[bool, tuple[given_edits.World, Proof]]) -> Proof:
    return worlds[False][1]


def sealed(body: dict[str, Any]) -> bytes:
    """As whoever wants to forge one would seal it."""
    kept = {k: v for k, v in body.items() if k != "seal"}
    seal = sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps(kept | {"seal": seal}).encode()


def body_of(proof: Proof) -> dict[str, Any]:
    return json.loads(to_text(proof))


def test_what_is_written_is_read(proof: Proof, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(to_text(proof))
    assert read_proof(str(tmp_path / "p.json")) == proof
    assert proof_of(sealed(body_of(proof)), "p") == proof


def test_a_measured_run(measured: Proof) -> None:
    assert (measured.protocol, measured.mode, measured.path, measured.kernel) == (PROTOCOL, "measured", "k.py", "k")
    assert (measured.correctness, measured.performance, measured.good) == ("passed", "faster", True)
    (file,) = measured.files
    assert (file.before, file.after) == (text_hash(TEXT), text_hash(edited(256)))
    assert [c.role for c in measured.cases] == ["time"]
    assert {p.stage for p in measured.pairs} == {"final", "baseline"}
    counts = {(p.process, p.quantity): 0 for p in measured.pairs}
    for pair in measured.pairs:
        counts[pair.process, pair.quantity] += pair.stage == "final"
    assert set(counts.values()) == {6}
    assert len(counts) == 10
    (case,) = measured.cases
    assert measured.stress == (
        StressLine(case.hash, "large values", used=True, why=None),
        StressLine(case.hash, "no bias", used=False, why="raises in k.py"),
    )


def test_a_predicted_run_has_no_figure(predicted: Proof) -> None:
    body = body_of(predicted)
    assert (body["figures"], body["pairs"], body["mode"], body["correctness"]) == (None, [], "predicted", "interpreted")


def test_nothing_says_whose_machine_it_was(worlds: dict[bool, tuple[given_edits.World, Proof]]) -> None:
    for world, proof in worlds.values():
        text = to_text(proof)
        assert str(world.folder) not in text
        assert not any(name in text for name in (this_process().host, str(Path.home())) if len(name) > 3)


def test_a_case_is_known_wherever_its_folder_lies(worlds: dict[bool, tuple[given_edits.World, Proof]]) -> None:
    world, proof = worlds[True]
    with Store.read(world.db) as store:
        kept = read(store, runs.find(store, "last"))
    (row,) = kept.cases
    function = {**row.facts["function"], "path": "/elsewhere/k.py"}

    def hashes(*rows: CaseRow) -> list[str]:
        return [c.hash for c in prove(evolve(kept, cases=rows, finals={}, measurements=()), 1).cases]

    moved = evolve(row, id="d" * 8, facts={**row.facts, "id": "d" * 8, "function": function})
    other = evolve(row, id="e" * 8, facts={**row.facts, "arguments": "x: float32[101]"})
    assert hashes(moved) == [proof.cases[0].hash]
    assert len({*hashes(row, moved, other), proof.cases[0].hash}) == 3, "alike, but two cases"
    assert hashes(row, evolve(other, role=LEFT_OUT)) == hashes(row), "what the run did without is not proven"


@pytest.mark.parametrize("allowed", [("exact",), ("exact", "reassociates"), ("exact", "reassociates", "lowers_precision")])
def test_the_numbers_may_differ_as_far_as_is_allowed(tmp_path: Path, allowed: Any) -> None:
    world = given_edits.World(tmp_path)
    world.file.write_text(edited(256))
    world.judge(edited(256), options=evolve(given_edit(world.options(), None), allowed=allowed))
    assert proof_at(world.db).numerics == allowed[-1]


# ---------------------------------------------------------------- its files


def test_from_either_text(measured: Proof, tmp_path: Path) -> None:
    found: list[tuple[dict[str, str], dict[str, str]]] = []
    for text in (TEXT, edited(256)):
        (tmp_path / "k.py").write_text(text)
        there = ground(measured, str(tmp_path))
        found.append((there.before, there.after))
    path = str(tmp_path / "k.py")
    assert found == [({path: TEXT}, {path: edited(256)})] * 2


@pytest.mark.parametrize("where", ["sub/deeper", "."])
def test_from_a_folder_below(measured: Proof, tmp_path: Path, where: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / where).mkdir(parents=True, exist_ok=True)
    (tmp_path / "k.py").write_text(TEXT)
    assert ground(measured, str(tmp_path / where)).before == {str(tmp_path / "k.py"): TEXT}


def test_one_changed_line(measured: Proof, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(edited(256).replace("tl.load(x + i, mask=i < n)", "tl.load(x + i, mask=i <= n)"))
    assert ground(measured, str(tmp_path)).changed == ("k.py",)


def test_edits_that_make_another_text(measured: Proof, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(TEXT)
    (file,) = measured.files
    other = evolve(file.edits[0], new="4096")
    with pytest.raises(SourceError, match="don't make the text"):
        ground(evolve(measured, files=(evolve(file, edits=(other, *file.edits[1:])),)), str(tmp_path))
    with pytest.raises(SourceError, match=r"no file k\.py"):
        ground(measured, str(tmp_path.parent))


TEXTS = st.lists(st.sampled_from(["a = 1", "b = 'é'", "", "  c", "d\r"]), max_size=6).map("\n".join)


@given(TEXTS, TEXTS)
@settings(max_examples=60, deadline=None)
def test_edits_go_both_ways(worlds: dict[bool, tuple[given_edits.World, Proof]], old: str, new: str) -> None:
    if old == new:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        path = str(folder / "k.py")
        world, _ = worlds[True]
        with Store.read(world.db) as store:
            kept = read(store, runs.find(store, "last"))
        patch = [
            {"path": path, "base": f.base, "edits": [[e.span.start, e.span.end, e.new] for e in f.edits]}
            for f in between({path: old}, {path: new}).files
        ]
        moved = evolve(
            kept,
            run=evolve(kept.run, path=path),
            base={path: old},
            variants={1: evolve(kept.variants[1], patch=patch)},
        )
        proof = prove(moved, 1)
        for text in (old, new):
            Path(path).write_bytes(text.encode())
            there = ground(proof, name)
            assert (there.before, there.after) == ({path: old}, {path: new})


# ---------------------------------------------------------------- what is refused


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


# ---------------------------------------------------------------- what confirms it

Change = Callable[[Proof], Proof]


def scored(value: float, low: float, high: float, **more: Any) -> Change:
    def change(proof: Proof) -> Proof:
        assert proof.figures is not None
        return evolve(proof, figures=evolve(proof.figures, score=Ratio(value, low, high)), **more)

    return change


def test_judged_again_it_is_confirmed(worlds: dict[bool, tuple[given_edits.World, Proof]], tmp_path: Path) -> None:
    for measured, (_, proof) in worlds.items():
        again = given_edits.World(tmp_path / str(measured)) if (tmp_path / str(measured)).mkdir() is None else None
        assert again is not None
        again.judge(edited(256), measured=measured)
        now = proof_at(again.db)
        assert [c.hash for c in now.cases] == [c.hash for c in proof.cases], "the folder is another one"
        assert confirm(proof, now if measured else evolve(now, tier=proof.tier)).outcome == "confirmed"


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6), "confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.65, 1.59, 1.7), "confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.35, 1.3, 1.41), "confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.35, 1.3, 1.39), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.65, 1.61, 1.7), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, performance="inconclusive"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, correctness="wrong"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, correctness="nondeterministic"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, fault="crashed"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, integrity="rejected"), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, not_exercised=("f",)), "not confirmed"),
        (scored(1.5, 1.4, 1.6), scored(1.5, 1.4, 1.6, cases=()), "not confirmed"),
        (scored(1.5, 1.4, 1.6), lambda p: evolve(p, figures=None), "not confirmed"),
    ],
)
def test_measured_again(measured: Proof, first: Change, second: Change, outcome: str) -> None:
    assert confirm(first(measured), second(measured)).outcome == outcome


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "confirmed"),
        ({"fact": "another one"}, "confirmed"),
        ({"tier": "unclear"}, "not confirmed"),
        ({"code": ("0" * 16,)}, "not confirmed"),
        ({"correctness": "wrong"}, "not confirmed"),
        ({"fault": "compile_error"}, "not confirmed"),
        ({"performance": "equal"}, "not confirmed"),
    ],
)
def test_predicted_again(predicted: Proof, change: dict[str, Any], outcome: str) -> None:
    assert confirm(predicted, evolve(predicted, **change)).outcome == outcome


HERE: Any = {
    "triton": "3.6.0",
    "torch": "2.13",
    "ptxas": "12.8",
    "python": "3.12",
    "driver": "580",
    "settings": {"TRITON_X": "1", "TRITON_P": "/p"},
}
H200 = World("NVIDIA H200", "NVIDIA H200 SXM", "3.6.0", "2.13", "3.11", None, "575", "12.8", {"TRITON_X": "1"})


@pytest.mark.parametrize(
    ("world", "gpu", "here", "word"),
    [
        ({}, "NVIDIA H200", {}, ""),
        ({}, "", {}, "no GPU"),
        ({"gpu": "NVIDIA H100"}, "NVIDIA H200", {}, "NVIDIA H100"),
        ({"device": "NVIDIA H100 SXM"}, "NVIDIA H200", {}, "NVIDIA H200"),
        ({}, "NVIDIA H200", {"triton": "3.5.0"}, "triton 3.6.0"),
        ({}, "NVIDIA H200", {"torch": "2.12"}, "torch 2.12"),
        ({}, "NVIDIA H200", {"ptxas": None}, "ptxas"),
        ({}, "NVIDIA H200", {"settings": {}}, "TRITON_X"),
        ({}, "NVIDIA H200", {"settings": {"TRITON_X": "1", "TRITON_P": "/q"}}, ""),
    ],
)
def test_what_cant_be_compared(measured: Proof, world: dict[str, Any], gpu: str, here: dict[str, Any], word: str) -> None:
    said = differs(evolve(measured, world=evolve(H200, **world)), gpu, find_device("h200"), {**HERE, **here})
    assert bool(said) == bool(word)
    assert word in said


def test_a_prediction_where_a_gpu_is(predicted: Proof) -> None:
    proof = evolve(predicted, world=evolve(H200, gpu=""))
    assert differs(proof, "", find_device("h200"), HERE) == ""
    assert "can measure" in differs(proof, "NVIDIA H200", find_device("h200"), HERE)
