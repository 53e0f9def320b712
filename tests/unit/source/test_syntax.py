"""Threads parse at once: the language server's, and the search's beside the one that proposes."""

from __future__ import annotations

import ast
import gc
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kernelband
from kernelband.source.syntax import expression_tree, syntax_tree, tolerant_grammar

TEXT = "\n".join(f"def f{i}(x): return g(x + {i}, [y for y in x if y * {i}])" for i in range(40))


class Cycle:
    """What only the garbage collector ends, in Python, so that another thread may go on in between."""

    def __init__(self) -> None:
        self.me = self
        weakref.finalize(self, sum, range(50))


@pytest.fixture
def interruptions() -> Iterator[None]:
    switch, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(1)
    yield
    sys.setswitchinterval(switch)
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("interruptions")
def test_threads_that_parse_at_once_do_not_disturb_each_other() -> None:
    """With ``ast.parse`` itself a few of these fail on Python 3.11.7."""

    def parse_often() -> set[str]:
        found: set[str] = set()
        for _ in range(20):
            Cycle()
            found.add(ast.dump(syntax_tree(TEXT)))
            expression_tree("(x + 1) * [y for y in z]")
        return found

    with ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(parse_often) for _ in range(4)]
    (dumped,) = {tree for job in jobs for tree in job.result()}
    assert dumped == ast.dump(ast.parse(TEXT))


@pytest.mark.usefixtures("interruptions")
def test_a_grammar_is_made_beside_threads_that_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making it asks ``ast`` for each of its words: a server begins on several documents at once."""
    over = threading.Event()

    def parse_until_over() -> None:
        while not over.is_set():
            Cycle()
            syntax_tree(TEXT)

    def make() -> int:
        monkeypatch.setattr("parso.grammar._loaded_grammars", {})
        tolerant_grammar.cache_clear()
        return len(tolerant_grammar().parse("x = 1\n").children)

    with ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(parse_until_over) for _ in range(2)]
        try:
            assert [make() for _ in range(4)] == [2] * 4
        finally:
            over.set()
    assert [job.exception() for job in jobs] == [None, None]


def test_nothing_else_parses() -> None:
    root, words = Path(kernelband.__file__).parent, re.compile(r"\bast\.parse\(|\bliteral_eval\(|\bload_grammar\(")
    found = [file.relative_to(root).as_posix() for file in root.rglob("*.py") if words.search(file.read_text())]
    assert found == ["source/syntax.py"]
