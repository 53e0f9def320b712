"""Tables in which modules put their functions as they are loaded: a variant that is loaded changes none of them."""

from __future__ import annotations

import sys

import pytest

from kernelband_worker.errors import OperationFailed

REGISTRY = """
from collections import OrderedDict

class Registry:
    def __init__(self):
        self.known = OrderedDict()

    def register(self, name):
        def keep(function):
            assert name not in self.known, f"{name} twice"
            self.known[name] = function
            return function
        return keep

class Base:
    known = {}

    def __init_subclass__(cls):
        assert cls.__name__ not in Base.known
        Base.known[cls.__name__] = cls

OPS, EVERY, PAIRS = Registry(), [], {}
"""
ADDS = """
from registry_kb import OPS, EVERY, PAIRS, Base

@OPS.register("first")
def first():
    return 0
"""
OP = """
from registry_kb import OPS, EVERY, PAIRS, Base

@OPS.register("op")
def op():
    return BY

class Op(Base):
    by = lambda self: BY

assert all(f.__name__ != "op" for f in EVERY)
EVERY.append(op)
PAIRS["op"] = (op, "a description")
BY = 1
"""
FILES = {
    "registry_kb.py": REGISTRY,
    "adds_kb.py": ADDS,
    "op_kb.py": OP,
    "last_kb.py": ADDS.replace("first", "last"),
    "main_kb.py": "import adds_kb, op_kb, last_kb\n",
}


def loaded(load, **more):
    served, loader = load({**FILES, **more})
    loader.original("main_kb")
    return served, loader, loader.original("registry_kb")


def test_a_variant_is_loaded_and_the_tables_hold_the_originals(load):
    served, loader, registry = loaded(load)
    original = loader.original("op_kb")
    for by in (10, 20):
        loader.register(served.variant(f"{by}", op_kb=OP.replace("BY = 1", f"BY = {by}")))
        assert loader.variant(f"{by}", "op_kb").op() == by
        assert loader.variant(f"{by}", "op_kb").Op().by() == by
    assert list(registry.OPS.known) == ["first", "op", "last"]
    assert registry.OPS.known["op"] is registry.PAIRS["op"][0] is original.op
    assert [original.op] == registry.EVERY
    assert registry.Base.known == {"Op": original.Op}


def test_what_others_put_in_meanwhile_stays(load):
    served, loader, registry = loaded(load, **{"late_kb.py": ADDS.replace("first", "late")})
    loader.register(served.variant("late", op_kb=f"import late_kb\n{OP}"))
    loader.variant("late", "op_kb")
    assert list(registry.OPS.known) == ["first", "op", "last", "late"]


def test_a_variant_that_fails_leaves_them_too(load):
    served, loader, registry = loaded(load)
    loader.register(served.variant("fails", op_kb=f"{OP}\nraise ValueError\n"))
    with pytest.raises(OperationFailed, match="Importing op_kb fails"):
        loader.variant("fails", "op_kb")
    assert registry.OPS.known["op"] is sys.modules["op_kb"].op
