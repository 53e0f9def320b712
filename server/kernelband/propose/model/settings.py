"""Which model is asked, where, with which key, and how much of it: from the user's command line and environment only.

The key stands in the environment and is read there at the moment of the first call: it is in no option, row, event or log.
"""

from __future__ import annotations

import importlib.util
import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs
from attrs import frozen

from kernelband.errors import UsageError

OPENAI_URL = "https://api.openai.com/v1"
KEY = "KERNELBAND_API_KEY"  # goes to whatever server is configured
OPENAI_KEY = "OPENAI_API_KEY"  # goes only to OpenAI's own address, or to the one that OPENAI_BASE_URL names beside it
NO_KEY = "none"  # what servers without keys are sent

_LIMITS = {"calls": 1, "tokens": 1_000, "answer_tokens": 256, "timeout_s": 1}


@frozen
class ModelSettings:
    """A model and the caps on its use. ``price``: US dollars per million tokens, read and written.

    ``calls``, ``tokens`` (read and written together) and ``dollars`` are for the whole run; ``answer_tokens`` and ``timeout_s`` for a call.
    """

    name: str
    base_url: str = OPENAI_URL
    calls: int = 40
    tokens: int = 400_000
    dollars: float | None = None
    price: tuple[float, float] | None = None
    answer_tokens: int = 12_000
    timeout_s: float = 90.0
    stream: bool = True
    log: str | None = None  # a file of the user's, for all that is sent and answered

    def __attrs_post_init__(self) -> None:
        for name, least in _LIMITS.items():
            if getattr(self, name) < least:
                raise UsageError(f"--model-{name.replace('_s', '').replace('_', '-')} must be at least {least}.")
        if self.dollars is not None and self.price is None:
            raise UsageError("--model-dollars needs the price: add --model-price READ,WRITTEN in dollars per million tokens.")
        if self.dollars is not None and not self.dollars > 0:
            raise UsageError("--model-dollars must be more than 0.")

    @classmethod
    def of(cls, given: Mapping[str, Any], environment: Mapping[str, str]) -> ModelSettings:
        """From options that were given (None: not given) and the environment.

        Raises:
            UsageError: no model is named, the address isn't one, or the price isn't two numbers.
        """
        if not given.get("name"):
            raise UsageError("No model is named: give --model NAME, or set KERNELBAND_MODEL.")
        url = _checked(given.get("base_url") or environment.get("OPENAI_BASE_URL") or OPENAI_URL)
        rest = {k: v for k, v in given.items() if v is not None and k not in ("name", "base_url", "price")}
        price = _price(given["price"]) if given.get("price") else None
        return cls(str(given["name"]), url, price=price, **rest)

    @property
    def host(self) -> str:
        """The server, for people: host and port."""
        return urlsplit(self.base_url).netloc

    @property
    def here(self) -> bool:
        """Whether the server is on this machine."""
        name = urlsplit(self.base_url).hostname or ""
        try:
            return name == "localhost" or ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    def is_openai(self, environment: Mapping[str, str]) -> bool:
        """Whether it is OpenAI's address, or the one of OPENAI_BASE_URL: what else stands in OPENAI_ variables is meant for it."""
        return self.base_url in (OPENAI_URL, environment.get("OPENAI_BASE_URL", "").rstrip("/"))

    def key(self, environment: Mapping[str, str]) -> str:
        """The key for this server.

        Raises:
            UsageError: there is none, and the server is known to want one.
        """
        found = environment.get(KEY) or (environment.get(OPENAI_KEY) if self.is_openai(environment) else None)
        if found:
            return found.strip()
        if self.base_url == OPENAI_URL:
            raise UsageError(f"There is no key for {self.host}: set {KEY} or {OPENAI_KEY}, or give --base-url of a server without keys.")
        return NO_KEY

    def has_key(self, environment: Mapping[str, str]) -> bool:
        """Whether there is one for this server."""
        return self.key(environment) != NO_KEY

    def require(self, environment: Mapping[str, str]) -> None:
        """What can be refused before anything starts.

        Raises:
            UsageError: the client isn't installed, or there is no key.
        """
        missing = [n for n in ("openai", "markdown_it") if importlib.util.find_spec(n) is None]
        if missing:
            raise UsageError(f"Asking a model needs {' and '.join(missing)}, which this Python lacks: pip install 'kernelband[search]'.")
        self.key(environment)

    def to_json(self) -> dict[str, Any]:
        """For the run's row; it holds no secret."""
        return attrs.asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ModelSettings:
        """The inverse."""
        known = {a.name for a in attrs.fields(cls)}
        given = {k: v for k, v in value.items() if k in known}
        price = given.pop("price", None)
        return cls(**given, price=(float(price[0]), float(price[1])) if price else None)


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_ok = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise UsageError(f"--base-url {url!r} is not an address: it looks like https://host/v1 or http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"--base-url must hold no user, password or query: put a key into the environment, as {KEY}.")
    return url.rstrip("/")


def _price(text: str) -> tuple[float, float]:
    try:
        read, written = (float(x) for x in text.split(","))
    except ValueError:
        read = written = -1.0
    if not (0 <= read < float("inf") and 0 <= written < float("inf")):
        raise UsageError(f"--model-price {text!r} is not READ,WRITTEN: two prices in dollars per million tokens, as 1.25,10.")
    return read, written
