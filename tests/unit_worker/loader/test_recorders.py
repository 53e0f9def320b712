from __future__ import annotations

import functools
import inspect

import pytest

from kernelband_worker import recorders
from kernelband_worker.errors import OperationFailed

TEXT = """
import functools
def twice(f):
    @functools.wraps(f)
    def g(*a, **k):
        return 2 * f(*a, **k)
    return g

def plain(x):
    return x

@twice
def decorated(x):
    return x + 1

class C:
    def __init__(self):
        self.y = 5
    @staticmethod
    def static(x):
        return x
    @classmethod
    def klass(cls, x):
        return cls, x
    def __private(self, x):
        return self.y + x
    def method(self, x):
        return self.__private(x)

def outer(n):
    def inner(x):
        nonlocal n
        n += x
        return n
    return inner

table = {'k': plain}
"""


@pytest.fixture
def recorded(load):
    calls = []

    def wrap(function, wrapped):
        @functools.wraps(wrapped)
        def recorder(*args, **kwargs):
            result = wrapped(*args, **kwargs)
            calls.append((function["qualname"], result))
            return result

        return recorder

    served, loader = load({"rec_a.py": TEXT})
    names = ["plain", "decorated", "C.static", "C.klass", "C.__private", "outer.<locals>.inner"]
    loader.record([served.function("rec_a", name) for name in names], wrap)
    return loader.original("rec_a"), calls, loader


def test_every_kind_of_function_is_recorded(recorded):
    module, calls, loader = recorded
    module.plain(1)
    module.table["k"](2)  # reached through a value that was taken before
    assert module.decorated(3) == 8
    module.C.static(4)
    module.C().klass(5)
    module.C().method(6)
    inner = module.outer(10)
    assert (inner(1), inner(1)) == (11, 12)
    assert calls == [
        ("plain", 1),
        ("plain", 2),
        ("decorated", 4),  # innermost: below the user's own decorator
        ("C.static", 4),
        ("C.klass", (module.C, 5)),
        ("C.__private", 11),
        ("outer.<locals>.inner", 11),
        ("outer.<locals>.inner", 12),
    ]
    assert sorted(f["qualname"] for f in loader.recorded) == sorted({name for name, _ in calls})
    assert recorders.RECORD not in vars(module)


def test_line_numbers_and_source_are_kept(recorded):
    module, _, _ = recorded
    plain = inspect.unwrap(module.plain)
    assert plain.__code__.co_firstlineno == TEXT[: TEXT.index("def plain")].count("\n") + 1
    assert inspect.getsource(plain) == "def plain(x):\n    return x\n"
    assert inspect.getsource(inspect.unwrap(module.C.static)).startswith("    @staticmethod\n")


def test_recording_after_import_is_refused(recorded):
    module, _, loader = recorded
    with pytest.raises(OperationFailed, match="loaded already"):
        loader.record([{"module": "rec_a", "path": module.__file__, "qualname": "plain"}], lambda function, wrapped: wrapped)


def test_siblings_are_not_recorded(load):
    served, loader = load({"rec_b.py": "def f():\n    return 1\n"})
    loader.record([served.function("rec_b", "f")], lambda function, wrapped: lambda: ("recorded", wrapped()))
    loader.register(served.variant("a" * 64, rec_b="def f():\n    return 2\n"))
    assert loader.resolve("a" * 64, served.function("rec_b", "f"))() == 2
    assert loader.resolve(None, served.function("rec_b", "f"))() == ("recorded", 1)
