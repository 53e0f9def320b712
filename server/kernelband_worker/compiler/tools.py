"""The binary tools that come with Triton (ptxas, cuobjdump, nvdisasm), found per version and run with a time limit.

A tool stays in the executor's process group, so that whoever kills the executor's group takes it along. Only tools that start no children
of their own are used (``cuobjdump -sass`` starts nvdisasm through a shell; nvdisasm is called directly instead).
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import Dict, List, Optional


class ToolError(Exception):
    """A tool is missing, failed, or did not finish. The message is a sentence."""


@dataclass(frozen=True)
class Output:
    stdout: str
    stderr: str


def tool_path(name: str) -> str:
    """Path of ``cuobjdump`` or ``nvdisasm`` as this Triton finds it.

    Raises:
        ToolError: it isn't part of this Triton and not configured.
    """
    try:
        from triton import knobs  # 3.4 and later
    except ImportError:
        from triton.backends.nvidia import compiler as nvidia

        try:
            return nvidia._path_to_binary(name)[0]  # pyright: ignore[reportAttributeAccessIssue] - before 3.4
        except RuntimeError as error:
            raise ToolError(f"{name} was not found beside Triton: {error}") from error
    try:
        return getattr(knobs.nvidia, name).path
    except RuntimeError as error:
        raise ToolError(f"{name} was not found beside Triton: {error}") from error


def ptxas_path(arch: int) -> str:
    """The ptxas with which this Triton assembles for ``arch``: newer releases bring a second one that alone knows their PTX version.

    Raises:
        ToolError: there is none.
    """
    from triton.backends.nvidia import compiler as nvidia

    chooser = getattr(nvidia, "get_ptxas", None)
    if chooser is None:
        return tool_path("ptxas")
    try:
        tool = chooser(arch)
    except RuntimeError as error:
        raise ToolError(f"ptxas was not found beside Triton: {error}") from error
    return tool.path if hasattr(tool, "path") else tool[0]  # before 3.5 a pair of path and version


def run(command: List[str], seconds: float, environment: Optional[Dict[str, str]] = None) -> Output:
    """Run a tool to its end.

    Raises:
        ToolError: it can't be started, exits with an error, or takes longer than ``seconds``; it is then killed.
    """
    name = os.path.basename(command[0])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{name} did not finish within {seconds:g} s.") from error
    except OSError as error:
        raise ToolError(f"{name} can't be started: {error}") from error
    if done.returncode != 0:
        raise ToolError(f"{name} failed with exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    return Output(done.stdout, done.stderr)
