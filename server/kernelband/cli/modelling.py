"""Options about a model as author. Their defaults come from the user's environment; files of a repository have no say."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kernelband.cli.probes import Check
from kernelband.errors import UsageError
from kernelband.propose import ModelSettings

Command = TypeVar("Command", bound=Callable[..., Any])
#: Option -> ModelSettings field.
FIELDS = {
    "model": "name",
    "base_url": "base_url",
    "model_calls": "calls",
    "model_tokens": "tokens",
    "model_answer_tokens": "answer_tokens",
    "model_dollars": "dollars",
    "model_price": "price",
    "model_timeout": "timeout_s",
    "model_stream": "stream",
    "model_log": "log",
}


def model_options(command: Command) -> Command:
    """``--author``, ``--model`` and what goes with them."""
    options = [
        click.option(
            "--author",
            metavar="A",
            envvar="KERNELBAND_AUTHOR",
            help="Who writes variants: rewriter (the default; it uses no model), model, or both.",
        ),
        click.option("--model", metavar="NAME", envvar="KERNELBAND_MODEL", help="The name of the model to ask, as its server calls it."),
        click.option("--base-url", metavar="URL", envvar="KERNELBAND_BASE_URL", help="Its server's OpenAI-compatible address."),
        click.option("--model-calls", type=int, metavar="N", help="Maximum number of calls in the run. Default: 40."),
        click.option("--model-tokens", type=int, metavar="N", help="Maximum number of tokens, read and written. Default: 400000."),
        click.option("--model-dollars", type=float, metavar="D", help="Maximum cost in dollars; needs --model-price."),
        click.option("--model-price", metavar="R,W", help="Dollars per million tokens, read and written."),
        click.option("--model-answer-tokens", type=int, metavar="N", help="Maximum number of tokens in an answer. Default: 12000."),
        click.option("--model-timeout", type=float, metavar="S", help="Seconds for an answer. Default: 90, less near the end of a run."),
        click.option("--model-stream/--model-no-stream", default=None, help="Whether answers are streamed. Default: yes."),
        click.option(
            "--model-log", type=click.Path(dir_okay=False), metavar="FILE", help="Log everything that is sent and answered to FILE."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def settings(given: dict[str, Any], earlier: ModelSettings | None = None) -> ModelSettings:
    """The model that is asked for; for a resumed run what isn't given again is as it was, but never the address: that is the user's to say
    where the key is.

    Raises:
        UsageError: no model, no key, a wrong address or cap.
    """
    chosen = {field: given[option] for option, field in FIELDS.items()}
    if earlier is not None:
        before = {k: v for k, v in earlier.to_json().items() if k not in ("base_url", "price", "log")}
        before["price"] = ",".join(map(str, earlier.price)) if earlier.price is not None else None
        chosen = {**before, **{k: v for k, v in chosen.items() if v is not None}}
    if chosen.get("log"):
        chosen["log"] = os.path.realpath(chosen["log"])
    found = ModelSettings.of(chosen, os.environ)
    found.require(os.environ)
    return found


def model_check() -> list[Check]:
    """For ``doctor``: what is configured in the environment. Nobody is asked, and no key is shown."""
    name = os.environ.get("KERNELBAND_MODEL")
    if not name:
        return [Check("model", "note", "none configured", "The rewriter writes the variants; --author and --model let a model do it.")]
    author = os.environ.get("KERNELBAND_AUTHOR") or "rewriter"
    means = "optimize asks it." if author != "rewriter" else "optimize asks it with --author model or both."
    try:
        found = ModelSettings.of({"name": name, "base_url": os.environ.get("KERNELBAND_BASE_URL")}, os.environ)
        found.require(os.environ)
    except UsageError as error:
        return [Check("model", "note", f"{name} can't be asked", error.message)]
    key = "with a key" if found.has_key(os.environ) else "without a key"
    return [Check("model", "ok", f"{name} at {found.host}, {key}", means)]
