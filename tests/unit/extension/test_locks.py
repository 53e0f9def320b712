"""Lock files name packages by version and hash, never by whose machine they came from."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REGISTRY = "https://registry.npmjs.org/"


def tracked(pattern: str) -> list[Path]:
    told = subprocess.run(["git", "ls-files", "-z", pattern], cwd=ROOT, check=True, capture_output=True, text=True, timeout=200)
    return [ROOT / name for name in told.stdout.split("\0") if name]


NPM = tracked("*package-lock.json")
PIP = tracked("requirements/*.txt")


def test_there_are_locks_to_look_at() -> None:
    assert len(NPM) >= 2
    assert len(PIP) >= 5


@pytest.mark.parametrize("path", NPM, ids=lambda p: str(p.relative_to(ROOT)))
def test_npm_packages_come_from_npm_s_own_registry_or_any(path: Path) -> None:
    packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
    elsewhere = {
        name: p["resolved"] for name, p in packages.items() if not p.get("link") and not p.get("resolved", REGISTRY).startswith(REGISTRY)
    }
    assert elsewhere == {}
    unhashed = [name for name, p in packages.items() if "node_modules/" in name and not p.get("link") and "integrity" not in p]
    assert unhashed == []


@pytest.mark.parametrize("path", PIP, ids=lambda p: p.name)
def test_python_packages_come_from_no_named_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\S*(?:://|@git|--index-url|--extra-index-url|--find-links|--trusted-host)\S*", text) == []
