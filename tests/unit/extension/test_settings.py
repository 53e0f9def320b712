"""What the extension tells the server of its settings is what the server takes, and nothing is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs

from kernelband.lsp.settings import Settings, read_settings

EXTENSION = Path(__file__).parents[3] / "vscode-extension"


def test_every_key_is_told_and_known() -> None:
    text = (EXTENSION / "src" / "server" / "settings.ts").read_text(encoding="utf-8")
    same = re.search(r"const SAME = \[([^\]]*)\]", text)
    others = re.search(r"return \{ \.\.\.told, ([^}]*) \}", text)
    assert same
    assert others
    told = {*re.findall(r'"(\w+)"', same[1]), *(part.split(":")[0].strip() for part in others[1].split(","))}
    camel = {re.sub(r"_(\w)", lambda m: m[1].upper(), a.name) for a in attrs.fields(Settings)}
    assert told == camel


def test_the_defaults_of_the_manifest_are_taken_without_a_word() -> None:
    properties = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["contributes"]["configuration"]["properties"]
    names = {"model.name": "model", "model.baseUrl": "baseUrl"}
    given = {
        names.get(key, key): p["default"]
        for full, p in properties.items()
        if "." not in (key := full.removeprefix("kernelband.")) or key in names
    }
    settings, problems = read_settings(given)
    assert problems == []
    assert settings == Settings()
