"""Settings from any editor: what is of the wrong kind is said, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import UsageError
from kernelband.lsp.liverun import Request
from kernelband.lsp.run_request import with_budget, with_python
from kernelband.lsp.settings import Settings, model_environment, read_settings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def test_keys_as_editors_write_them() -> None:
    settings, problems = read_settings({"python": "/usr/bin/python3", "gpu": "h200", "trials": 20, "lens": False, "later": 1})
    assert settings == Settings(python="/usr/bin/python3", gpu="h200", trials=20, lens=False)
    assert problems == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trials", "20"),
        ("trials", True),
        ("lens", 1),
        ("python", 3),
        ("seconds", [1]),
        ("diagnostics", "spills"),
        ("inspect", True),
        ("inspect", "open"),
        ("search", "python"),
        ("search", ["python", 3]),
        ("pythons", {"/a": 1}),
        ("workers", ["ssh box"]),
    ],
)
def test_the_wrong_kind_is_said_and_left_out(key: str, value: object) -> None:
    settings, problems = read_settings({key: value}, Settings(trials=5))
    assert settings == Settings(trials=5)
    assert len(problems) == 1
    assert f"kernelband.{key}" in problems[0]


def test_nothing_and_null_take_back() -> None:
    before = Settings(trials=5, lens=False, python="p")
    assert read_settings(None, before) == (before, [])
    assert read_settings({"trials": None, "lens": None, "python": ""}, before)[0] == Settings()
    assert read_settings({"inspect": None, "diagnostics": None}, Settings(inspect="save", diagnostics=["spills"]))[0] == Settings()


@given(JSON)
def test_any_json_is_taken(value: object) -> None:
    settings, problems = read_settings(value)
    assert isinstance(settings, Settings)
    assert all(p.endswith(".") for p in problems)


def test_the_search_is_told_of_a_model_and_of_nothing_without_one() -> None:
    assert model_environment(Settings(base_url="http://127.0.0.1:1/v1"), "secret") == {}
    told = model_environment(Settings(model="m", base_url="http://127.0.0.1:1/v1"), "secret")
    assert told["KERNELBAND_MODEL"] == "m"
    assert told["KERNELBAND_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert told["KERNELBAND_API_KEY"] == "secret"
    assert "KERNELBAND_API_KEY" not in model_environment(Settings(model="m"), None)


def test_the_python_of_the_nearest_folder_is_taken_on_this_machine_only() -> None:
    settings = Settings(python="/usr/bin/python3", pythons={"/a": "/a/python", "/a/b": "/b/python"})
    assert with_python(settings, "/a/b/k.py").python == "/b/python"
    assert with_python(settings, "/a/bc/k.py").python == "/a/python"
    assert with_python(settings, "/c/k.py").python == "/usr/bin/python3"
    assert with_python(attrs.evolve(settings, worker="ssh box"), "/a/b/k.py").python == "/usr/bin/python3"


def test_a_folder_that_was_opened_through_a_link_has_its_python(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    settings, problems = read_settings({"pythons": {str(tmp_path / "link"): "/b/python", "no\0path": "/c/python"}})
    assert problems == []
    assert with_python(settings, str((tmp_path / "real" / "k.py").resolve())).python == "/b/python"


def test_a_run_may_have_a_budget_of_its_own() -> None:
    asked = Request("file:///k.py", "/k.py", "k", trials=5, seconds=7.0)
    assert with_budget(asked, {"trials": 3}) == attrs.evolve(asked, trials=3, seconds=None)
    assert with_budget(asked, {"trials": None, "seconds": 30}) == attrs.evolve(asked, trials=None, seconds=30)


@pytest.mark.parametrize("budget", [{}, {"trials": 0}, {"trials": 1.5}, {"seconds": "30"}, {"trials": True}, {"trials": 3, "seconds": -1}])
def test_what_is_no_budget_is_refused(budget: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="budget"):
        with_budget(Request("file:///k.py", "/k.py", "k"), budget)
