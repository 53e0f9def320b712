"""What may be shared: whatever home, user and host go in, none of them come out; what helps stays."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelband.cli.anonymous import GONE, Private, of_this_machine, without

# Only what stands for what was cut is left out: it says nothing of anybody.
characters = st.characters(exclude_categories=["Cs"], exclude_characters=GONE)
names = st.text(characters, min_size=1, max_size=12).filter(str.strip)
homes = st.lists(names.filter(lambda n: "/" not in n), min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))


@settings(max_examples=60)
@given(homes, names, names)
@example("/home/jo", "jo", "box")
def test_what_is_private_does_not_come_out(home: str, user: str, host: str) -> None:
    said = [
        f"the kernels of {home}/x y/k.py can't be read",
        f"run by {user}@{host} in {home}: 'quoted' and `code` \"more\" file://{home}/k.py",
        f"{host}{user}{home}{user.upper()}",
    ]
    out = without("\n".join(said), Private((home,), (user, host)))
    assert home.rstrip("/") not in out
    assert user not in out
    assert host not in out


@settings(max_examples=50)
@given(st.text(max_size=200), st.text(st.characters(codec="ascii"), min_size=1, max_size=12).filter(str.strip))
def test_letter_case_does_not_hide_a_name(text: str, user: str) -> None:
    assert user.lower() not in without(text + user.upper() + user.title(), Private(names=(user,)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torch 2.9.0 with CUDA 12.8, Triton 3.6.0", "torch 2.9.0 with CUDA 12.8, Triton 3.6.0"),
        ("The history /home/jo/.local/h.db can't be used: Permission denied.", "The history \u2026.db can't be used: Permission denied."),
    ],
)
def test_what_helps_stays(text: str, wanted: str) -> None:
    assert without(text, Private(("/home/jo",), ("jo", "box"))) == wanted


def test_this_machines_own_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody/")
    monkeypatch.setenv("USER", "another")
    private = of_this_machine("ssh jane@gpu-box")
    assert {"somebody", "another", "jane", "gpu-box"} <= set(private.names)
    assert without("in /home/somebody/x and /home/somebody", private) == "in \u2026 and \u2026"
