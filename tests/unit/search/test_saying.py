"""What executors print reaches the user once."""

from __future__ import annotations

from kernelband.search.start import saying

WARNING = "k.py{}:97: UserWarning: Logical operators 'and' and 'or' are deprecated\n"


def test_a_warning_of_every_variant_is_said_once():
    heard = []
    say = saying(heard.append)
    for executor, name in (("main", ""), ("compile-0", "#kb-45957a14"), ("compile-5", "#kb-e75a5a2b"), ("compile-0", "#kb-45957a14")):
        say(executor, WARNING.format(name))
    say("main", WARNING.format("").replace("97", "107"))
    assert [(e.executor, e.text) for e in heard] == [("main", WARNING.format("")), ("main", WARNING.format("").replace("97", "107"))]


def test_no_piece_of_a_line_is_left_out():
    """A print without a buffer comes as its words and the end of its line."""
    heard = []
    say = saying(heard.append)
    for executor in ("main", "compile-0", "main"):
        for text in ("imported", " it", "\n", "\n", "and more\n"):
            say(executor, text)
    told = {of: "".join(e.text for e in heard if e.executor == of) for of in ("main", "compile-0")}
    assert told == {"main": "imported it\n\nand more\nimported it\n", "compile-0": "imported it\n"}
