from __future__ import annotations


def test_texts_of_original_and_variant(load):
    served, loader = load({"tx_a.py": "import tx_b\n", "tx_b.py": "X = 1\n"})
    loader.register(served.variant("b" * 64, tx_b="X = 2\n"))
    loader.original("tx_a")
    loader.variant("b" * 64, "tx_a")
    assert loader.texts(None) == {"tx_a": "import tx_b\n", "tx_b": "X = 1\n"}
    assert loader.texts("b" * 64) == {"tx_a": "import tx_b\n", "tx_b": "X = 2\n"}
