"""The client against a server on this machine: answers, and every way of not answering."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from kernelband.errors import UsageError
from kernelband.propose.model.client import ModelFault, OpenAIClient, Reply
from kernelband.propose.model.settings import NO_KEY, OPENAI_URL, ModelSettings
from tests.unit.propose.model_server import ModelServer, Says, serving

SECRET = "kb-secret-1234567890"
TALK = [{"role": "user", "content": "faster, please"}]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def client(server: ModelServer, *, stream: bool = True, **environment: str) -> OpenAIClient:
    settings = ModelSettings.of({"name": "wise", "base_url": server.url, "stream": stream}, {})
    return OpenAIClient(settings, {"KERNELBAND_API_KEY": SECRET, **environment})


def ask(says: Says, *, stream: bool = True, timeout_s: float = 60.0) -> Reply:
    with serving(lambda _: says) as server:
        return client(server, stream=stream).ask(TALK, 500, timeout_s)


def fault(says: Says, *, stream: bool = True, timeout_s: float = 60.0) -> ModelFault:
    with pytest.raises(ModelFault) as raised:
        ask(says, stream=stream, timeout_s=timeout_s)
    return raised.value


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_with_its_tokens(stream: bool) -> None:
    assert ask(Says("hello " * 50), stream=stream) == Reply("hello " * 50, "stop", 100, 75)
    assert ask(Says("hello", usage=False), stream=stream).written is None
    assert not ask(Says("hel", finish="length"), stream=stream).complete
    assert ask(Says("", finish="content_filter"), stream=stream).finish == "content_filter"


def test_what_is_sent() -> None:
    with serving(lambda _: Says("x")) as server:
        client(server, OPENAI_ORG_ID="org-of-mine").ask(TALK, 500, 60)
    assert server.paths == ["/v1/chat/completions"]
    assert (server.asked[0]["model"], server.asked[0]["messages"], server.asked[0]["max_completion_tokens"]) == ("wise", TALK, 500)
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert "openai-organization" not in server.headers[0]


def test_a_server_that_knows_only_older_parameters() -> None:
    def answer(body: dict[str, Any]) -> Says:
        for name in ("max_completion_tokens", "stream_options"):
            if name in body:
                return Says(status=400, error=f"Unrecognized request argument supplied: {name}")
        return Says("fine")

    with serving(answer) as server:
        asked = client(server)
        assert asked.ask(TALK, 500, 60).text == "fine"
        assert asked.ask(TALK, 500, 60).text == "fine"
    assert server.asked[-1]["max_tokens"] == 500
    assert len(server.asked) == 4  # learnt once


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("says", "words", "lasting", "again"),
    [
        (Says(status=401, error="bad key"), r"refuses the key \(401: bad key\): set KERNELBAND_API_KEY", True, False),
        (Says(status=403, error="no"), "refuses the key", True, False),
        (Says(status=404, error="no such model"), "has no model wise, or --base-url", True, False),
        (Says(status=400, error="context too long"), "refuses the request", True, False),
        (Says(status=429, error="slow down", headers={"retry-after": "7"}), "asked again in 7 s", False, True),
        (Says(status=429, error="You exceeded your current quota"), "quota is used up", True, False),
        (Says(status=500, error="oops"), "internal error", False, True),
        (Says(status=503, raw=b"<html>busy"), "internal error", False, True),
        (Says(status=307, headers={"location": "http://elsewhere.invalid/v1"}), "redirects the request", True, False),
        (Says(raw=b"<html>welcome</html>"), "doesn't answer as the API does|no choices", False, True),
    ],
    ids=range(10),
)
def test_each_refusal_is_a_sentence(says: Says, words: str, lasting: bool, again: bool, stream: bool) -> None:
    found = fault(says, stream=stream)
    assert (found.lasting, found.again) == (lasting, again), found.sentence
    assert re.search(words, found.sentence), found.sentence
    assert "Traceback" not in found.sentence
    assert "\n" not in found.sentence


def test_when_to_ask_again() -> None:
    assert fault(Says(status=429, error="slow down", headers={"retry-after": "7"})).retry_s == 7
    assert fault(Says(status=429, error="slow down")).retry_s is None


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_stalls(stream: bool) -> None:
    found = fault(Says("late", stall_s=250), stream=stream, timeout_s=0.5)  # whoever waits gets an answer, and no fault
    assert found.again
    assert "answer within" in found.sentence  # none, or none that is complete


def test_a_stream_that_trickles_for_ever() -> None:
    found = fault(Says("x" * 2500, trickle_s=0.1), timeout_s=0.5)  # whoever reads on gets it all, and no fault
    assert "answer within" in found.sentence  # none, or none that is complete


def test_a_stream_that_breaks_off() -> None:
    assert not ask(Says("x" * 1000, drop=True, finish=None)).complete


def test_the_end_of_a_run_waits_for_no_answer() -> None:
    closing: list[threading.Thread] = []

    def answer(_: dict[str, Any]) -> Says:  # the run ends once the question is there
        closing.append(threading.Thread(target=asked.close))
        closing[-1].start()
        return Says("late", stall_s=250)

    with serving(answer) as server:
        asked = client(server)
        with pytest.raises(ModelFault, match="The run ended"):
            asked.ask(TALK, 500, 250)
        closing[0].join()
        with pytest.raises(ModelFault, match="The run ended"):
            asked.ask(TALK, 500, 250)
    assert len(server.asked) == 1


def test_nobody_is_there() -> None:
    with serving(lambda _: Says("x")) as server:
        pass
    with pytest.raises(ModelFault, match="can't be reached"):
        client(server).ask(TALK, 500, 60)


def test_a_key_that_the_server_repeats_isnt_said() -> None:
    assert SECRET not in fault(Says(status=401, error=f"Incorrect API key provided: {SECRET}")).sentence


@pytest.mark.parametrize(
    ("url", "environment", "key"),
    [
        (None, {"OPENAI_API_KEY": "o"}, "o"),
        (None, {"OPENAI_API_KEY": "o", "KERNELBAND_API_KEY": "k"}, "k"),
        ("https://other.example/v1", {"OPENAI_API_KEY": "o"}, NO_KEY),  # OpenAI's key isn't for others
        ("https://other.example/v1", {"KERNELBAND_API_KEY": "k"}, "k"),
        (None, {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://mine.example/v1/"}, "o"),  # these two belong together
        ("https://other.example/v1", {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://mine.example/v1"}, NO_KEY),
    ],
)
def test_which_key_goes_where(url: str | None, environment: dict[str, str], key: str) -> None:
    assert ModelSettings.of({"name": "m", "base_url": url}, environment).key(environment) == key


def test_settings_that_make_no_sense() -> None:
    for given, words in (
        ({}, "No model is named"),
        ({"name": "m", "base_url": "ftp://x"}, "is not an address"),
        ({"name": "m", "base_url": "https://a:b@x/v1"}, "must hold no user"),
        ({"name": "m", "base_url": "https://x/v1?key=1"}, "must hold no user"),
        ({"name": "m", "base_url": "https://x:99999/v1"}, "is not an address"),
        ({"name": "m", "calls": 0}, "--model-calls must be at least 1"),
        ({"name": "m", "dollars": 1.0}, "needs the price"),
        ({"name": "m", "price": "1"}, "is not READ,WRITTEN"),
        ({"name": "m", "price": "nan,1"}, "is not READ,WRITTEN"),
    ):
        with pytest.raises(UsageError, match=words):
            ModelSettings.of(given, {})
    with pytest.raises(UsageError, match=r"There is no key for api\.openai\.com"):
        ModelSettings("m", OPENAI_URL).key({})
    settings = ModelSettings.of({"name": "m", "price": "1.25,10", "dollars": 2.0}, {})
    assert ModelSettings.from_json(settings.to_json()) == settings
