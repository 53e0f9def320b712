"""The command line: one file for each command, loaded when it is asked for, so that ``--help`` and ``kernels`` start at once."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from kernelband import __version__

#: command -> (module:function, help line). The help lines stand here so that ``--help`` loads no command.
COMMANDS = {
    "kernels": ("kernelband.cli.kernels:kernels", "List the Triton kernels of files and folders."),
    "capture": ("kernelband.cli.capture:capture", "Run the program once and show the cases that it makes of a kernel."),
    "entry": ("kernelband.cli.entry:entry", "Draft a bench function for a kernel that no test shows at work."),
    "inspect": ("kernelband.cli.inspect:inspect", "Compile a kernel for GPUs, without one, and show what limits it."),
    "optimize": ("kernelband.cli.optimize:optimize", "Search for faster variants of a kernel and verify the best."),
    "verify": ("kernelband.cli.verify:verify", "Judge your own edit of a kernel against the original."),
    "check": ("kernelband.cli.check:check", "Check a proof again, on this machine."),
    "history": ("kernelband.cli.history:history", "List the runs that are kept."),
    "show": ("kernelband.cli.show:show", "Show what a run found."),
    "apply": ("kernelband.cli.apply:apply", "Apply a variant to the files, or print it as a patch."),
    "revert": ("kernelband.cli.revert:revert", "Restore the original where a variant was applied."),
    "trust": ("kernelband.cli.trust:trust", "Allow editors to run programs in a folder, or list the trusted folders."),
    "untrust": ("kernelband.cli.trust:untrust", "Stop trusting a folder."),
    "config": ("kernelband.cli.config:config", "Set the Python, worker and GPU that commands use, or show them."),
    "lsp": ("kernelband.cli.lsp:lsp", "Run the language server for an editor."),
    "doctor": ("kernelband.cli.doctor:doctor", "Report what is installed, what is missing, and what works."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The commands, in the order of a first use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The table of commands, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="kernelband")
def app() -> None:
    """Verified, measured, explained faster versions of your Triton kernels.

    The user's path: `kernelband optimize FILE`, then `kernelband show last`, then `kernelband apply last/3 --diff`.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code (docs/cli.md)."""
    from kernelband.cli.failure import run_and_exit

    run_and_exit(app, sys.argv[1:] if arguments is None else arguments)
