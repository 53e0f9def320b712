"""Where a program runs: ``--worker``, ``--python`` and ``--gpu``, and what ``kernelband config`` says where they aren't given."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from kernelband.errors import ExecutorFault, HardwareError, WorkerError
from kernelband.workload.defaults import NAMES, Defaults, read

Command = TypeVar("Command", bound=Callable[..., Any])


def worker_options(command: Command) -> Command:
    """``--worker`` and ``--python``."""
    return _options(_configured(command, ("worker", "python")))


def device_options(text: str, metavar: str = "NAME") -> Callable[[Command], Command]:
    """``--worker``, ``--python``, and ``--gpu`` with that help: what it is for, as one sentence."""
    gpu = click.option("--gpu", metavar=metavar, help=f"{text} Default: as `kernelband config gpu` says, else h100.")

    def decorate(command: Command) -> Command:
        return gpu(_options(_configured(command, ("worker", "python", "gpu"))))

    return decorate


def _options(command: Command) -> Command:
    python = "Python that has torch and Triton. Default: as `kernelband config python` says, else the active one."
    worker = (
        'Prefix that reaches another machine, as "ssh box" or "docker exec -i c"; "" is this machine. '
        "Default: as `kernelband config worker` says. With this option given, no setting of `kernelband config` counts."
    )
    command = click.option("--python", metavar="PATH", help=python)(command)
    return click.option("--worker", metavar="CMD", help=worker)(command)


def _configured(command: Command, names: tuple[str, ...]) -> Command:
    """The command, given what is configured for the options of those names that aren't given themselves."""

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> Any:
        if given.get("resume") is not None:  # that run has a place of its own, and goes on there
            return command(*arguments, **given)
        said: dict[str, str | None] = {name: given[name] if name in names else None for name in NAMES}
        # Not read where nothing of it counts: a file that is broken is no matter then.
        found = (read() if said["worker"] is None else Defaults()).under(**said)
        try:
            return command(*arguments, **{**given, **{name: found.get(name) for name in names}})
        except (WorkerError, HardwareError) as error:
            configured = [f"{name} {found.get(name)}" for name in names if said[name] is None and found.get(name)]
            if configured and not isinstance(error, ExecutorFault):
                error.message += f" `kernelband config` says {' and '.join(configured)}."
            raise

    return cast("Command", run)
