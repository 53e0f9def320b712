"""From a name to the jit function that is compiled."""

from __future__ import annotations

from typing import Any, Optional

from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State
from kernelband_worker.wire import Function, LaunchSpec
from kernelband_worker.wrapped import jit_function


def find(state: State, variant: Optional[str], launch: LaunchSpec) -> Any:
    """The jit function that ``launch`` launches, in the variant's text.

    Raises:
        OperationFailed: the function is gone or no Triton kernel.
    """
    function = launch["kernel"]
    if "<locals>" in function["qualname"]:
        return _local(state, variant, launch)
    # A function of which only a call makes a kernel may be kept anywhere: in a table, in an object, under another name.
    kernel = jit_function(state.opened.resolve(variant, function))
    return _local(state, variant, launch) if kernel is None else kernel


def resolve(state: State, variant: Optional[str], function: Function) -> Any:
    """The jit function of that name.

    Raises:
        OperationFailed: it is gone or no Triton kernel.
    """
    kernel = jit_function(state.opened.resolve(variant, function))
    if kernel is None:
        raise OperationFailed(
            f"{function['qualname']} in {function['path']} is not a Triton kernel: @triton.jit must be its innermost decorator.",
            "bad_request",
            path=function["path"],
        )
    return kernel


def by_name(state: State, variant: Optional[str], name: str) -> Any:
    """A jit function that was passed as a constant, by ``module:qualname``.

    Raises:
        OperationFailed: it is gone or no Triton kernel.
    """
    module, _, qualname = name.partition(":")
    return resolve(state, variant, {"module": module, "path": "", "qualname": qualname})


def _local(state: State, variant: Optional[str], launch: LaunchSpec) -> Any:
    """A kernel that no name of a module leads to: run the case with launches suppressed."""
    from kernelband_worker.compiler.specialise import launches_of

    for event in launches_of(state, variant, launch["case"]):
        if event.function == launch["kernel"]:
            return event.kernel
    raise OperationFailed(
        f"{launch['kernel']['qualname']} was not launched again: the function that launches it didn't reach it this time.",
        "not_replayable",
        path=launch["kernel"]["path"],
    )
