"""A text that may be shared: whatever home, user, host and source go in, none of them come out; what helps stays."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from kernelband import __version__
from kernelband.errors import SourceError
from kernelband.history import Store, runs
from kernelband.lsp.anonymous import GONE, PIECE, SHORT, Private, of_this_machine, without
from kernelband.lsp.bundle import bundle, last_seen
from kernelband.lsp.logbook import MOST, Logbook
from kernelband.lsp.settings import Settings
from tests.unit.history.rows import run_row

CLIENT = types.ClientInfo("Some Editor", "1.2")
CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(apply_edit=True),
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf8]),
)

# Only what stands for what was cut is left out: it says nothing of anybody.
characters = st.characters(exclude_categories=["Cs"], exclude_characters=GONE)
names = st.text(characters, min_size=1, max_size=12).filter(str.strip)
homes = st.lists(names.filter(lambda n: "/" not in n), min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
sources = st.lists(st.text(characters, max_size=60), max_size=5).map("\n".join)


def made(log: list[str], private: Private, settings: Settings | None = None, history: dict[str, str] | None = None) -> str:
    return bundle(CLIENT, CAPABILITIES, settings or Settings(), history or {}, log=log, private=private)


@settings(max_examples=60)
@given(homes, names, names, sources, st.data())
@example("/home/jo", "jo", "box", "    secret_kernel = tl.load(x)\n", None)
def test_what_is_private_does_not_come_out(home: str, user: str, host: str, source: str, data: st.DataObject | None) -> None:
    lines = [line for line in source.splitlines() if line.strip()]
    begin = data.draw(st.integers(0, len(source))) if data is not None else 0
    log = [
        f"12:00:00 WARNING kernelband.lsp.index: The kernels of {home}/x y/k.py can't be read.",
        f"Run by {user}@{host} in {home}: 'quoted' and `code` \"more\" file://{home}/k.py",
        f"{host}{user}{home}{user.upper()}",
        f"The client sent {source[begin:]} and then {user}",
        *lines,
    ]
    settings = Settings(db=f"{home}/h.db", python=f"{home}/bin/python", worker=f"ssh {user}@{host}", entry=f"{home}/b.py::{user}", gpu=host)
    history = {"torch": "2.9", "note": f"{home} {user} {host}"}
    out = made(log, Private((home,), (user, host), (source,)), settings, history)
    assert home.rstrip("/") not in out
    assert user not in out
    assert host not in out
    for line in lines:
        assert len(line.strip()) < SHORT or line.strip() not in out
    pieces = {source[i : i + PIECE] for i in range(len(source) - PIECE + 1)}
    assert not any(piece in out for piece in pieces if piece.strip())


@settings(max_examples=50)
@given(st.text(max_size=200), st.text(st.characters(codec="ascii"), min_size=1, max_size=12).filter(str.strip))
def test_letter_case_does_not_hide_a_name(text: str, user: str) -> None:
    assert user.lower() not in without(text + user.upper() + user.title(), Private(names=(user,)))


def test_what_helps_stays() -> None:
    log = [
        "12:00:00 WARNING kernelband.lsp.protocol: textDocument/hover can't take these parameters.",
        "    at kernelband/lsp/index.py:12 in _read",
        "The notification $/progress is passed over.",
        "The history /home/jo/.local/h.db can't be used: Permission denied.",
    ]
    text = made(log, Private(("/home/jo",), ("jo", "box")), Settings(python="/home/jo/venv/bin/python3.12", worker="ssh box", seconds=60.0))
    for wanted in (
        f"KernelBand: {__version__}",
        f"Python: CPython {sys.version.split()[0]}",
        "pygls: 2.",
        "name: Some Editor 1.2",
        "workspace.apply_edit: True",
        "general.position_encodings: utf-8",
        "window.show_document.support: None",
        "python: python3.12",
        "worker: ssh …",
        "seconds: 60.0",
        "db: not set",
        *log[:3],
        "The history ….db can't be used: Permission denied.",
    ):
        assert wanted in text, wanted


def test_this_machines_own_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody/")
    monkeypatch.setenv("USER", "another")
    private = of_this_machine(["text"])
    assert {"somebody", "another"} <= set(private.names)
    assert without("in /home/somebody/x and /home/somebody", private) == "in … and …"
    assert "/home" not in without("/home/somebody", evolve(private, texts=()))


def test_the_worker_is_the_one_of_the_newest_run(tmp_path: Path) -> None:
    db = tmp_path / "history.db"
    assert "no history" in last_seen(db)["history"]
    with Store.write(db) as store:
        for number, torch in ((1, "2.8"), (2, "2.9")):
            runs.begin(store, run_row(f"aaaaaaa{number}", created=float(number), environment={"torch": torch, "triton": "3.6.0"}), {})
    assert {k: last_seen(db)[k] for k in ("torch", "triton", "mode")} == {"torch": "2.9", "triton": "3.6.0", "mode": "measured"}


def test_the_log_keeps_the_last_lines_and_where_an_error_was() -> None:
    book, log = Logbook(), logging.getLogger("kernelband.tests.book")
    log.addHandler(book)
    log.propagate = False
    try:
        for number in range(MOST + 5):
            log.warning("line %d", number)
        try:
            without("x", Private(names=(None,)))  # pyright: ignore[reportArgumentType] - so that it fails in our code
        except TypeError:
            log.exception("It failed.")
        try:
            raise SourceError("One\nsentence.")
        except SourceError:
            log.exception("Refused.")
    finally:
        log.removeHandler(book)
    lines = book.lines
    assert len(lines) == MOST
    assert not any(line.endswith("line 0") for line in lines)
    assert any(line.startswith("    at kernelband/lsp/anonymous.py:") for line in lines)
    assert "  TypeError" in lines
    assert lines[-2:] == ("  SourceError: One", "sentence.")
