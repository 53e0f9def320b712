"""Operation compile: build one specialisation with Triton's own stages into the run's cache, and read what came out.

The executor that launches it later finds it in that cache. Whatever is looked at (ptxas' report, machine code) is made beside it and never
becomes what is timed. A bad tile can hold ptxas for minutes: the caller gives the call a deadline and kills the executor's process group.
"""

from __future__ import annotations

import re
import time
from typing import Any, Dict, List, Optional, cast

from kernelband_worker.compiler import elf, facts_store, kernels, ptxas, specialisation, tools
from kernelband_worker.compiler.reading import Reading, read
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State
from kernelband_worker.wire import CompileFacts, CompileParams, LaunchSpec, Target

#: A tool that this Triton doesn't bring along, such as AMD's linker before 3.3.
_MISSING = re.compile(r"\b(ld\.lld|ptxas|linker)\b.*\bnot found\b|Cannot find \S*(ptxas|lld)")
#: What Triton says of an assembler that a signal ended: that says nothing of the kernel.
_KILLED = re.compile(r"failed with error code -\d+")


def compile_launch(state: State, params: CompileParams) -> CompileFacts:
    """The operation.

    Raises:
        OperationFailed: the kernel doesn't compile (kind compile_error, with path and line), or is gone.
    """
    launch, target = params["launch"], params["target"]
    variant = params.get("variant")
    kernel = kernels.find(state, variant, launch)
    started = time.monotonic()
    with ptxas.listening() as log:
        compiled, hit = build(kernel, launch, target, lambda name: kernels.by_name(state, variant, name))
    instructions = bool(params.get("instructions"))
    facts = _facts(state, compiled, launch, target, log="".join(log), instructions=instructions)
    return cast("CompileFacts", {**facts, "seconds": time.monotonic() - started, "cache_hit": hit})


def build(kernel: Any, launch: LaunchSpec, target: Target, jit: Any) -> Any:
    """``(compiled, whether it came from the cache)``.

    Raises:
        OperationFailed: it doesn't compile, or the assembler was killed twice (kind out_of_memory).
    """
    import triton
    from triton.backends.compiler import GPUTarget

    src, options = specialisation.source(kernel, launch, target, jit)
    made: List[bool] = []
    make_ir = src.make_ir

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(True)
        return make_ir(*args, **kwargs)

    src.make_ir = counted  # on this one object: called only when the cache has nothing

    def once() -> Any:
        return triton.compile(src, target=GPUTarget(target["backend"], target["arch"], target["warp_size"]), options=options)

    try:
        try:
            compiled = once()
        except Exception as error:
            if not _KILLED.search(str(error)):
                raise
            compiled = once()
    except Exception as error:  # Triton raises anything from KeyError to RuntimeError on a kernel that it can't compile
        raise _failure(error, kernel, launch) from error
    return compiled, not made


def _failure(error: BaseException, kernel: Any, launch: LaunchSpec) -> OperationFailed:
    """A compile error with the user's line: errors inside helpers are chained, the outermost stands in the kernel itself."""
    from triton.compiler.errors import CompilationError

    chain: List[BaseException] = []
    step: Optional[BaseException] = error
    while step is not None and step not in chain:
        chain.append(step)
        step = step.__cause__
    data: Dict[str, Any] = {"path": launch["kernel"]["path"], "detail": str(error)[:4000]}
    if _KILLED.search(str(error)):
        said = f"The assembler was killed twice while it compiled {launch['kernel']['qualname']}"
        return OperationFailed(f"{said}: by another process, or because memory ran out.", "out_of_memory", **data)
    reason = next((_reason(str(e)) for e in reversed(chain) if str(e).strip()), type(chain[-1]).__name__)
    outer = next((e for e in chain if isinstance(e, CompilationError)), None)
    if outer is None and _MISSING.search(reason):
        return OperationFailed(f"{launch['kernel']['qualname']} can't be compiled with this Triton: {reason[:300]}", "unsupported", **data)
    line = getattr(getattr(outer, "node", None), "lineno", None)
    where = ""
    if line is not None:
        data["line"] = definition_line(kernel) + line - 1
        where = f" at line {data['line']}"
    return OperationFailed(f"{launch['kernel']['qualname']} does not compile{where}: {reason[:300]}", "compile_error", **data)


def _reason(text: str) -> str:
    """The line of an error text that says most: ptxas' own words among Triton's repro commands, else the last line."""
    assembler = re.search(r"^ptxas\S* (?:fatal|error)\s*:\s*(.+)$", text, re.MULTILINE)
    return assembler.group(1).strip() if assembler else text.strip().splitlines()[-1]


def definition_line(kernel: Any) -> int:
    """1-based line of ``def`` in the kernel's file, after its decorators."""
    raw, first = getattr(kernel, "raw_src", None), getattr(kernel, "starting_line_number", None)
    if raw is None or first is None:
        return int(kernel.fn.__code__.co_firstlineno)
    offset = next((i for i, text in enumerate(raw) if text.lstrip().startswith(("def ", "async def "))), 0)
    return int(first) + offset


def _facts(state: State, compiled: Any, launch: LaunchSpec, target: Target, *, log: str, instructions: bool) -> Dict[str, Any]:
    """From the store where this code was read before; else read now and stored."""
    session = state.session or {}
    limit = (session.get("device_properties") or {}).get("max_shared_mem") if session.get("target") == target else None
    name = facts_store.name(compiled.hash, instructions, launch, limit)
    kept = facts_store.load(session.get("cache"), name)
    if kept is None:
        try:
            kept = facts_of(read(compiled, launch, target, log, instructions), launch, target, limit)
        except (tools.ToolError, elf.NotElfError) as error:
            raise OperationFailed(
                f"{launch['kernel']['qualname']} compiles, but its code can't be read: {error}", "unsupported", detail=str(error)
            ) from error
        facts_store.save(session.get("cache"), name, kept)
    return {"kernel": launch["kernel"], "key": launch["key"], "target": target, **kept}


def facts_of(reading: Reading, launch: LaunchSpec, target: Target, limit: Optional[int]) -> Dict[str, Any]:
    """The wire's facts of one reading: all but kernel, key, target, seconds and cache_hit."""
    return {
        "code_hash": reading.code_hash,
        "registers": reading.registers,
        "stack_bytes": reading.stack_bytes,
        "spill_store_bytes": reading.spill_store_bytes,
        "spill_load_bytes": reading.spill_load_bytes,
        "shared_bytes": reading.shared_bytes,
        "num_warps": reading.num_warps,
        "num_stages": reading.num_stages,
        "num_ctas": reading.num_ctas,
        "tensor_core": reading.tensor_core,
        "opcodes": reading.opcodes,
        "accesses": reading.accesses,
        "lines": reading.lines(),
        "warnings": reading.warnings(launch, target, limit),
        "unusable": reading.unusable(target, limit),
    }
