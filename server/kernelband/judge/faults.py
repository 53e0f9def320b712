"""Whose fault an error is: a variant's costs a trial and becomes a result, anything else ends the run with its own sentence."""

from __future__ import annotations

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.judge.result import Fault

#: Kinds of wire.ERROR_KINDS that a variant can cause, and the fault that they are.
OF_THE_VARIANT: dict[str, Fault] = {
    "compile_error": "compile_error",
    "import_failed": "compile_error",
    "out_of_memory": "oom",
    "entry_failed": "crashed",
    "never_launches": "crashed",
    "generated": "crashed",
    "not_replayable": "crashed",  # the cases were: what the variant made of them isn't
    "unsupported": "crashed",
    "internal": "crashed",
}
FAULTS: dict[str, Fault] = {"timeout": "timeout", "crashed": "crashed", "oom": "oom"}


def fault_of(error: KernelBandError) -> Fault | None:
    """The fault that a result carries; None when the error is not the variant's, and must be raised."""
    if isinstance(error, ExecutorFault):
        return FAULTS.get(error.fault, "crashed")
    return OF_THE_VARIANT.get(error.kind)
