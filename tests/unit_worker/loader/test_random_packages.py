"""Whichever way names are handed on in a package, a variant gives what the edited texts give where they are the originals."""

from __future__ import annotations

from collections import Counter

from kernelband_worker.errors import OperationFailed
from tests.unit_worker.loader.random_packages import MODULES, Package, full, path
from tests.unit_worker.loader.test_variants import ID

SEEDS = range(200)


def given(loader, variant, package):
    """What each function of each module gives: one of an error, where it has none."""

    def one(module, name):
        try:
            return loader.resolve(variant, {"module": full(module), "path": "", "qualname": name})()
        except (OperationFailed, RecursionError, NameError) as error:  # a name that isn't there, a function that calls itself for ever
            return type(error).__name__

    functions = [(module, name) for module in MODULES for name, kind in sorted(package.names[module].items()) if kind == "function"]
    return {function: one(*function) for function in functions}


def originals(load, texts, package, edited=None):
    """What the originals give, and the variant beside them."""
    served, loader = load(texts)
    try:
        for module in reversed(MODULES):
            loader.original(full(module))
        before = given(loader, None, package)
        if edited is None:
            return before, before
        loader.register(served.variant(ID, **{full(module).replace(".", "__"): text for module, text in edited.items()}))
        beside = given(loader, ID, package)
        assert given(loader, None, package) == before
        return before, beside
    finally:
        loader.uninstall()


def test_a_variant_gives_what_its_texts_give_as_originals(load):
    seen = Counter()
    for seed in SEEDS:
        package = Package(seed)
        edited = package.edited()
        texts = {**package.texts, **{path(module): text for module, text in edited.items()}}
        wanted, _ = originals(load, texts, package)
        before, beside = originals(load, package.texts, package, edited)
        assert beside == wanted, f"seed {seed}"
        seen["changed"] += before != wanted
        seen["functions"] += len(wanted)
        seen["errors"] += sum(isinstance(value, str) for value in wanted.values())
    assert seen["changed"] > len(SEEDS) // 2
    assert seen["errors"] < seen["functions"] // 20
