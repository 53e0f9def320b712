"""How the command line ends: one sentence for the user and a documented exit code, whatever happened."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click
import platformdirs

from kernelband import __version__
from kernelband.cli.output import echo, never_fail
from kernelband.errors import KernelBandError, UsageError

CRASHED = 70  # EX_SOFTWARE: a mistake of ours
INTERRUPTED = 130
SEARCH = ("numpy", "scipy", "sklearn", "openai", "markdown_it")  # what `kernelband[search]` brings, by the names that are imported


def run_and_exit(app: click.Command, arguments: Sequence[str]) -> NoReturn:
    """Run ``app`` and leave the process."""
    never_fail()
    try:
        code = app.main(list(arguments), prog_name="kernelband", standalone_mode=False)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say("Interrupted.")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # `kernelband show | head`: the reader has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KernelBandError as error:
        _end(error, arguments)
    except Exception as error:  # noqa: BLE001 - the last resort: a person never sees a traceback of ours
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in SEARCH:
            _end(_without_search(error), arguments)
        log = write_crash(error, arguments)
        where = f"The details are in {log}: please report it with that file." if log else "The details could not be written to a file."
        say(f"KernelBand failed with an internal error ({type(error).__name__}: {_first_line(error)}). {where}")
        sys.exit(CRASHED)
    sys.exit(code if isinstance(code, int) else 0)


def _end(error: KernelBandError, arguments: Sequence[str]) -> NoReturn:
    """Its sentence, as JSON too where that is asked for, and its exit code."""
    say(f"{error.message} {error.terminal}".rstrip())
    if error.detail:
        say("\n".join("  " + line for line in error.detail.rstrip().splitlines()[-30:]))
    if "--json" in arguments or "--json-lines" in arguments:
        print(json.dumps({"event": "error", "message": error.message, "detail": error.detail, "exit_code": error.exit_code}), flush=True)
    sys.exit(error.exit_code)


def _without_search(error: ModuleNotFoundError) -> KernelBandError:
    """The engine is installed without the packages of the search."""
    need = f"The search needs {error.name}, which {sys.executable} doesn't have"
    return UsageError(f"{need}: install it there ({sys.executable} -m pip install 'kernelband[search]').")


def say(text: str) -> None:
    """To stderr, whatever its encoding can't write replaced."""
    echo(text, err=True)


def write_crash(error: BaseException, arguments: Sequence[str]) -> Path | None:
    """The traceback in a file of its own (0600) for a report; None when there is nowhere to write."""
    lines = [
        f"kernelband {__version__}, Python {platform.python_version()} on {platform.platform()}",
        f"arguments: {list(arguments)}",
        "",
        *traceback.format_exception(error),
    ]
    try:
        folder = platformdirs.user_log_path("kernelband")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(lines))
    except OSError:
        return None
    return path


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "no message")[:200]
