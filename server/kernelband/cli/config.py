"""``kernelband config``: the Python, the worker and the GPU of every command that isn't told another."""

from __future__ import annotations

import json
import os

import click

from kernelband.cli.output import echo
from kernelband.cli.target import json_option
from kernelband.errors import UsageError
from kernelband.worker.command import WorkerCommand
from kernelband.workload.defaults import NAMES, Defaults, default_path, read, write

LISTED = f"{', '.join(NAMES[:-1])} and {NAMES[-1]}"


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("value", metavar="[VALUE]", required=False)
@click.option("--unset", is_flag=True, help="Remove the setting of that name.")
@json_option
def config(name: str | None, value: str | None, *, unset: bool, as_json: bool) -> None:
    """Set which python, worker and gpu the commands use; without a VALUE, show what they use and where it comes from.

    An option of a command overrides its setting. A command that is given --worker uses no setting at all: python is the one behind
    the worker that is set, or of this machine if none is. With gpu set, only a GPU of that kind is used to measure, here or behind the
    worker; with another GPU, or none, everything is predicted for it. A resumed run keeps the settings it was started with.
    """
    if name is not None and name not in NAMES:
        raise UsageError(f"There is no setting {name!r}: the settings are {LISTED}.")
    if unset and (name is None or value is not None):
        raise UsageError(f"--unset takes the name of one setting and no value: the settings are {LISTED}.")
    known = read()
    if name is not None and (unset or value is not None):
        now = known.put(name, _checked(name, value, known) if value is not None else None)
        if now.problem:
            raise UsageError(f"That can't be set: {now.problem}.")
        write(now)
        _tell(name, known, now, quiet=as_json)
        if not as_json:
            return
        known, name = now, None
    _show(known, [n for n in NAMES if name in (None, n)], as_json)


def _checked(name: str, value: str, known: Defaults) -> str:
    """The value as it is kept.

    Raises:
        UsageError: it can't be one of that name.
        HardwareError: the GPU is unknown.
    """
    if not value.strip():
        raise UsageError(f"{name} can't be empty: `kernelband config --unset {name}` removes the setting.")
    if name == "gpu":
        from kernelband.hardware import find_device

        return find_device(value).key
    return _local(value) if name == "python" and not known.worker else value  # behind a worker there is nothing to look at


def _local(value: str) -> str:
    python = WorkerCommand.of(None, value).python
    if os.path.isabs(python) and not os.path.isfile(python):
        raise UsageError(
            f"There is no Python {python} on this machine: give its path, as in /path/to/venv/bin/python. "
            "For one on another machine, set the worker that reaches it first."
        )
    return python


def _tell(name: str, before: Defaults, now: Defaults, *, quiet: bool) -> None:
    value = now.get(name)
    if not quiet:
        echo(f"{name} is no longer set." if value is None else f"{name} is now {value}.")
    if name == "worker" and now.python and before.worker != now.worker:
        where = f"behind {now.worker}" if now.worker else "of this machine"
        echo(f"python is still {now.python}: it is now the one {where}.", err=True)


def _show(known: Defaults, names: list[str], as_json: bool) -> None:
    """The settings of those names, in use or by default."""
    used = known.put("python", WorkerCommand.of(known.worker, known.python).python)
    if as_json:
        rows = {n: {"value": used.get(n), "from": "default" if known.get(n) is None else "config"} for n in names}
        echo(json.dumps({"path": str(default_path()), "settings": rows}, indent=1))
        return
    shown = {
        "python": used.python or "",
        "worker": known.worker or "none, this machine",
        "gpu": known.gpu or "none: the GPU that is there, else predictions for h100",
    }
    for name in names:
        echo(f"{name:6}  {shown[name]}  ({'by default' if known.get(name) is None else 'set here'})")
    echo(f"Kept in {default_path()}{'' if default_path().exists() else ', which does not exist yet'}.")
