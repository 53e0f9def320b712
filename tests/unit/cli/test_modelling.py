"""What the command line makes of a model: from options and environment only, and what doctor says of it."""

from __future__ import annotations

from typing import Any

import pytest

from kernelband.cli.modelling import FIELDS, model_check, settings
from kernelband.errors import UsageError
from kernelband.propose import ModelSettings

NAMES = ("KERNELBAND_AUTHOR", "KERNELBAND_MODEL", "KERNELBAND_BASE_URL", "KERNELBAND_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def given(**more: Any) -> dict[str, Any]:
    return dict.fromkeys(FIELDS) | more


def test_caps_and_address() -> None:
    found = settings(given(model="wise", base_url="http://localhost:8000/v1/", model_calls=3, model_price="1,2", model_dollars=0.5))
    assert (found.name, found.base_url, found.calls, found.price, found.dollars) == ("wise", "http://localhost:8000/v1", 3, (1.0, 2.0), 0.5)


def test_a_resumed_run_never_takes_the_address_from_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = ModelSettings("wise", "https://attacker.example/v1", calls=7, price=(1.0, 2.0), log="/tmp/theirs")
    monkeypatch.setenv("KERNELBAND_API_KEY", "secret")
    found = settings(given(model_calls=9), earlier)
    assert (found.name, found.calls, found.price, found.host, found.log) == ("wise", 9, (1.0, 2.0), "api.openai.com", None)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://mine.example/v1")
    assert settings(given(), earlier).host == "mine.example"


def test_no_model_and_no_key_are_said() -> None:
    with pytest.raises(UsageError, match="model"):
        settings(given())
    with pytest.raises(UsageError, match="no key"):
        settings(given(model="wise"))


def test_doctor_says_what_is_configured_and_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(c.state, c.found) for c in model_check()] == [("note", "none configured")]
    monkeypatch.setenv("KERNELBAND_MODEL", "wise")
    assert "no key for api.openai.com" in model_check()[0].means
    monkeypatch.setenv("KERNELBAND_API_KEY", "kb-secret-1")
    (check,) = model_check()
    assert check.state == "ok"
    assert "wise at api.openai.com" in check.found
    assert "kb-secret" not in str(check)
    monkeypatch.setenv("KERNELBAND_BASE_URL", "nonsense")
    assert "is not an address" in model_check()[0].means
