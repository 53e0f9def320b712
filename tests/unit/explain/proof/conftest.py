"""A proof of an edit that was measured, and one of an edit that was predicted."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.explain.kept import read
from kernelband.explain.prooffile import to_text
from kernelband.explain.proofshape import Proof
from kernelband.explain.prove import prove
from kernelband.history import Store, runs
from tests.unit.search import test_given as given_edits
from tests.unit.search.fake_lab import FakeExecutor, FakeLab

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


@pytest.fixture(scope="package")
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
