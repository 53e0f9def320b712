"""Where Python doesn't know a code object's qualified name yet (before 3.11), it is read from the text."""

from __future__ import annotations

import sys
import types

import pytest

from kernelband_worker.sources import _qualnames

TEXT = """
import functools

doubled = lambda x: 2 * x


def plain(x):
    def inner(y):
        return list(map(lambda z: z + y, x))
    return inner


@functools.lru_cache(
    maxsize=None
)
def decorated():
    return lambda: (
        lambda: 1
    )


async def waits():
    if True:
        def late():
            pass


class Outer:
    class Inner:
        @staticmethod
        def method(x, default=lambda: 0):
            try:
                def deep():
                    pass
            finally:
                pass
"""


def codes(code):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from codes(constant)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python doesn't say what its qualified names are")
def test_they_are_those_of_newer_pythons():
    known = _qualnames(TEXT)
    classes = {"Outer", "Outer.Inner"}
    functions = [code for code in codes(compile(TEXT, "t.py", "exec")) if code.co_qualname not in classes]
    assert len(functions) == 12
    for code in functions:
        assert known[code.co_firstlineno, code.co_name] == code.co_qualname
