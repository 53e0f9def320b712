"""One question, one answer, or one sentence why not. All of ``openai`` is behind this file, imported at the first question."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import define, field, frozen

from kernelband.propose.model.settings import KEY, NO_KEY, ModelSettings

Message = dict[str, str]  # role, content
MAX_ANSWER = 400_000  # characters; what goes on for longer is cut off
SHOWN = 300  # characters of a server's own words


@frozen
class Reply:
    """What came back. ``complete``: it ended by itself. ``read`` and ``written`` are tokens, None where the server didn't say."""

    text: str
    finish: str
    read: int | None
    written: int | None

    @property
    def complete(self) -> bool:
        return self.finish in ("stop", "", "eos", "tool_calls")


class ModelFault(Exception):
    """No answer. ``lasting``: asking again is of no use. ``retry_s``: when the server wants to be asked again, None if it didn't say.

    ``sent``: the question reached the server, so it may have cost something.
    """

    def __init__(self, sentence: str, *, lasting: bool = False, again: bool = False, retry_s: float | None = None, sent: bool = False):
        super().__init__(sentence)
        self.sentence, self.lasting, self.again, self.retry_s, self.sent = sentence, lasting, again, retry_s, sent


class Client(Protocol):
    """Answers a conversation."""

    def ask(self, messages: Sequence[Message], tokens: int, timeout_s: float) -> Reply:
        """The answer, of at most ``tokens`` tokens, within ``timeout_s``.

        Raises:
            ModelFault: there is none, and why.
        """
        ...

    def close(self) -> None:
        """End a question that another thread waits for; there will be no more."""
        ...


@define
class OpenAIClient:
    """The server of the settings. Never follows it elsewhere, never waits longer than told."""

    settings: ModelSettings
    environment: Mapping[str, str] = field(repr=False)
    _limit: str = "max_completion_tokens"  # older servers call it max_tokens
    _usage: bool = True  # whether to ask a stream for its tokens
    _over: threading.Event = field(factory=threading.Event)
    _waking: set[threading.Event] = field(factory=set[threading.Event])

    def close(self) -> None:
        """See ``Client``."""
        self._over.set()
        for done in tuple(self._waking):
            done.set()

    def ask(self, messages: Sequence[Message], tokens: int, timeout_s: float) -> Reply:
        """See ``Client``. A server that doesn't know a parameter is asked once more without it."""
        try:
            return self._once(messages, tokens, timeout_s)
        except _Unknown as unknown:  # each is given up once, so this ends
            if unknown.parameter == "max_completion_tokens":
                self._limit = "max_tokens"
            else:
                self._usage = False
            return self.ask(messages, tokens, timeout_s)

    def _once(self, messages: Sequence[Message], tokens: int, timeout_s: float) -> Reply:
        """In a thread, because a server that sends a byte now and then stops every timeout of a connection from passing."""
        got: list[Reply | BaseException] = []
        done = threading.Event()
        client = self._client(timeout_s)

        def work() -> None:
            try:
                got.append(self._call(client, messages, tokens))
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                got.append(error)
            done.set()

        self._waking.add(done)
        if not self._over.is_set():
            threading.Thread(target=work, name="model", daemon=True).start()
        try:
            if not self._over.is_set() and not done.wait(timeout_s):
                raise ModelFault(f"{self._who} gave no complete answer within {timeout_s:.0f} s.", again=True, sent=True)
            if not got:
                raise ModelFault("The run ended before the model answered.", lasting=True, sent=True)
        finally:
            self._waking.discard(done)
            client.close()
        outcome = got[0]
        if isinstance(outcome, Reply):
            return outcome
        fault = self._fault(outcome, timeout_s)
        if isinstance(fault, ModelFault):
            fault.sentence = hidden(fault.sentence, self.settings.key(self.environment))
        raise fault from None

    def _client(self, timeout_s: float) -> Any:
        import openai

        def plain(request: Any) -> None:
            """What else the environment says of an account at OpenAI is for OpenAI only."""
            if not self.settings.is_openai(self.environment):
                for name in ("openai-organization", "openai-project"):
                    request.headers.pop(name, None)

        return openai.OpenAI(
            api_key=self.settings.key(self.environment),
            base_url=self.settings.base_url,
            timeout=timeout_s,
            max_retries=0,  # waiting is the author's to decide: it knows what is left of the run
            http_client=openai.DefaultHttpxClient(follow_redirects=False, timeout=timeout_s, event_hooks={"request": [plain]}),
        )

    def _call(self, client: Any, messages: Sequence[Message], tokens: int) -> Reply:
        more: dict[str, Any] = {self._limit: tokens}
        if not self.settings.stream:
            return _whole(client.chat.completions.create(model=self.settings.name, messages=list(messages), **more))
        if self._usage:
            more["stream_options"] = {"include_usage": True}
        stream = client.chat.completions.create(model=self.settings.name, messages=list(messages), stream=True, **more)
        return _streamed(stream)

    @property
    def _who(self) -> str:
        return f"The model server {self.settings.host}"

    def _fault(self, error: BaseException, timeout_s: float) -> BaseException:
        import openai

        host, words = self._who, _words(error)
        if isinstance(error, openai.APITimeoutError):
            return ModelFault(f"{host} gave no answer within {timeout_s:.0f} s.", again=True, sent=True)
        if isinstance(error, openai.APIConnectionError):
            cause = str(error.__cause__ or error)[:SHOWN]
            return ModelFault(f"{host} can't be reached ({cause}): is --base-url right, and the server up?", again=True)
        if isinstance(error, openai.APIStatusError):
            return self._status(error, words)
        if isinstance(error, (openai.OpenAIError, _NotAnAnswer, ValueError, TypeError, AttributeError, IndexError, KeyError)):
            url = self.settings.base_url
            return ModelFault(f"{host} doesn't answer as the API does ({words}): is --base-url {url} right?", again=True, sent=True)
        if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2"):
            return ModelFault(f"The connection to {self.settings.host} broke off ({words}).", again=True, sent=True)
        return error

    def _status(self, error: Any, words: str) -> BaseException:
        code, host = int(error.status_code), self._who
        if code == 400:
            for name, asked in (("max_completion_tokens", self._limit == "max_completion_tokens"), ("stream_options", self._usage)):
                if asked and name in words:
                    return _Unknown(name)
        if code in (401, 403):
            return ModelFault(f"{host} refuses the key ({code}: {words}): set {KEY} to one that is valid there.", lasting=True)
        if code == 404:
            return ModelFault(
                f"{host} has no model {self.settings.name}, or --base-url {self.settings.base_url} is wrong (404: {words}).", lasting=True
            )
        if code == 429:
            spent = "insufficient_quota" in words or "quota" in words.lower() or "billing" in words.lower()
            after = _retry_after(error)
            when = f", to be asked again in {after:.0f} s" if after is not None else ""
            why = "the account's quota is used up" if spent else "too many requests"
            return ModelFault(f"{host} says {why} (429{when}): {words}", lasting=spent, again=not spent, retry_s=after)
        if 300 <= code < 400:
            return ModelFault(f"{host} redirects the request ({code}), which isn't followed: correct --base-url.", lasting=True)
        if code >= 500:
            return ModelFault(f"{host} failed with an internal error ({code}: {words}).", again=True, retry_s=_retry_after(error))
        return ModelFault(f"{host} refuses the request ({code}: {words}).", lasting=code in (400, 405, 422))


class _Unknown(Exception):
    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


class _NotAnAnswer(Exception):
    pass


def _whole(answer: Any) -> Reply:
    choices = getattr(answer, "choices", None)
    if not choices:
        raise _NotAnAnswer("no choices in it")
    message = choices[0].message
    text = getattr(message, "content", None) or ""
    usage = getattr(answer, "usage", None)
    return Reply(str(text)[:MAX_ANSWER], _finish(choices[0], message, text), *_tokens(usage))


def _streamed(stream: Any) -> Reply:
    parts: list[str] = []
    size, finish, usage = 0, "", None
    refused = False
    seen = False
    with stream:
        for chunk in stream:
            seen = True
            usage = getattr(chunk, "usage", None) or usage
            for choice in getattr(chunk, "choices", None) or ():
                delta = choice.delta
                refused |= bool(getattr(delta, "refusal", None))
                content = getattr(delta, "content", None) or ""
                parts.append(str(content))
                size += len(content)
                finish = choice.finish_reason or finish
            if size > MAX_ANSWER:
                finish = "length"
                break
    if not seen:
        raise _NotAnAnswer("an empty stream")
    finish = finish or "cut off"  # a stream says how it ends
    return Reply("".join(parts)[:MAX_ANSWER], "content_filter" if refused and not "".join(parts) else finish, *_tokens(usage))


def _finish(choice: Any, message: Any, text: str) -> str:
    if getattr(message, "refusal", None) and not text:
        return "content_filter"
    return str(choice.finish_reason or "")


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    return (read if isinstance(read, int) and read >= 0 else None), (written if isinstance(written, int) and written >= 0 else None)


def _retry_after(error: Any) -> float | None:
    try:
        value = float(error.response.headers.get("retry-after", ""))
    except (ValueError, AttributeError):
        return None
    return value if 0 <= value < 86400 else None


def _words(error: BaseException) -> str:
    """The server's own words, one line, not long."""
    body = getattr(error, "body", None)
    found = body.get("message") if isinstance(body, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    text = str(found) if isinstance(found, str) else str(error) or type(error).__name__
    return " ".join(text.split())[:SHOWN]


def hidden(text: str, secret: str) -> str:
    """``text`` without a secret: a server may repeat the key in its complaint."""
    return text.replace(secret, "…") if len(secret) > len(NO_KEY) else text
