"""Operation specialise: which specialisations a variant's host functions ask for, learned by running them with launches suppressed.

Nothing is compiled or run on a device, so this needs no GPU and costs what the host function costs. With the specialisations the variant
can be compiled in other processes, ahead of its first launch.
"""

from __future__ import annotations

import ast
import hashlib
import json
import traceback
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Set, cast

from kernelband_worker.cases.replay import open_case
from kernelband_worker.compiler import specialisation
from kernelband_worker.errors import OperationFailed, is_out_of_memory
from kernelband_worker.launches import observe
from kernelband_worker.state import State
from kernelband_worker.wire import LaunchSpec, SpecialiseParams, SpecialiseResult, Target

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget

_TWO_GIB = 2**31 - 1


def specialise(state: State, params: SpecialiseParams) -> SpecialiseResult:
    """The operation. Launches come in order, case by case; equal ones are kept, for the grid and scalars of each count.

    Raises:
        OperationFailed: the host function fails, or a constant can't be passed to another process.
    """
    variant, double = params.get("variant"), params.get("double", False)
    launches: List[LaunchSpec] = []
    modules: Set[str] = set()
    for case in params.get("cases", []):
        for event in doubled_launches_of(state, case) if double else launches_of(state, variant, case):
            launches.append(_spec(state, event, case))
            modules.update(f["module"] for f in [event.function, *event.frames])
        modules.add(open_case(state, case).case["function"]["module"])
    return {"launches": launches, "host_hash": host_hash(_modules(state, variant, sorted(modules)))}


def launches_of(state: State, variant: Optional[str], case: str) -> List[Any]:
    """The launch events of one call of ``case``, none of them run.

    Raises:
        OperationFailed: the host function fails.
    """
    events: List[Any] = []
    replay = open_case(state, case)
    prepared = replay.inputs(0)
    try:
        with observe(state, events.append, suppress=True, configs=replay.choices(variant)):
            replay.call(variant, prepared)
    except OperationFailed:
        raise
    except Exception as error:  # the user's own code: it may raise anything
        name = replay.case["function"]["qualname"]
        tail = "".join(traceback.format_exception(type(error), error, error.__traceback__)[-4:])
        raise OperationFailed(
            f"{name} failed before its launch: {type(error).__name__}: {error}",
            "out_of_memory" if is_out_of_memory(error) else "entry_failed",
            path=replay.case["function"]["path"],
            detail=tail,
        ) from error
    return events


def doubled_launches_of(state: State, case: str) -> List[Any]:
    """The launch events of the original on float64 inputs, with the known configuration and with what comes next where that doesn't fit;
    none where it refuses them: then there is no reference either.
    """
    found: List[Any] = []
    replay = open_case(state, case)
    for configs in (replay.choices(None), {}) if replay.configs else (replay.choices(None),):
        events: List[Any] = []
        prepared = replay.doubled(0)
        if prepared is None:
            break
        try:
            replay.bind(None, prepared, double=True)
            with observe(state, events.append, suppress=True, configs=configs, least=True):
                replay.call(None, prepared)
        except Exception:  # noqa: BLE001 - most functions check their dtypes, in their own ways
            break
        found += events
    return found


def _target(state: State) -> Target:
    if state.session is not None and state.role != "gpu" and "target" in state.session:
        return state.session["target"]
    from triton.runtime.driver import driver

    current = cast("GPUTarget", driver.active.get_current_target())
    return {"backend": current.backend, "arch": current.arch, "warp_size": current.warp_size}


def _spec(state: State, event: Any, case: str) -> LaunchSpec:
    facts = event.specialization
    kernel = event.kernel
    names = list(kernel.arg_names)
    signature = {k: v if isinstance(v, str) else json.loads(json.dumps(v, default=str)) for k, v in facts["signature"].items()}
    data = facts.get("specialization_data")
    if not isinstance(data, str):
        data = _data(state, event, facts)
    constants = {_name(k, names): _plain(v) for k, v in facts["constants"].items()}
    pointers = {name: event.arguments.get(name) for name, kind in signature.items() if isinstance(kind, str) and kind.startswith("*")}
    decoded = json.loads(data)
    return {
        "kernel": event.function,
        "key": facts["key"],
        "specialization_data": data,
        "signature": signature,
        "constants": constants,
        "attributes": [[_name(k, names), v] for k, v in _attributes(facts["attributes"])],
        "options": {k: v for k, v in event.options.items() if isinstance(v, (bool, int, float, str, type(None)))},
        "grid": [int(n) for n in event.grid],
        "scalars": {k: v for k, v in event.arguments.items() if k not in constants and isinstance(v, (bool, int, float))},
        "case": case,
        "target": decoded.get("target") or _target(state),
        "aligned": sorted(set(_aligned(facts["attributes"], names)) - set(constants)),
        "small": sorted(name for name, value in pointers.items() if _storage_bytes(value) <= _TWO_GIB),
    }


def _data(state: State, event: Any, facts: Dict[str, Any]) -> str:
    try:
        return specialisation.dumps(
            event.kernel.__name__,
            facts["signature"],
            facts["constants"],
            facts["attributes"],
            options=facts["options"],
            of_jit=lambda jit: _place(state, jit),
        )
    except TypeError as error:
        raise OperationFailed(
            f"{event.function['qualname']} gets a constant that can't be passed to another process to be compiled there: {error}.",
            "unsupported",
            path=event.function["path"],
        ) from error


def _place(state: State, jit: Any) -> str:
    place = state.opened.place(jit.fn.__code__)
    return f"{place['module'] if place else jit.fn.__module__}:{jit.fn.__qualname__}"


def _name(key: Any, names: List[str]) -> str:
    if isinstance(key, str):
        return key
    path = list(key) if isinstance(key, (tuple, list)) else [key]
    first = names[path[0]] if isinstance(path[0], int) and path[0] < len(names) else str(path[0])
    return first + "".join(f"[{p}]" for p in path[1:])


def _plain(value: Any) -> Any:
    inner = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    return inner if isinstance(inner, (bool, int, float, str, type(None))) else str(inner)


def _attributes(attributes: Any) -> Iterable[Any]:
    """Pairs of key and list of properties, for AttrsDescriptor (before 3.3) and dicts alike."""
    return attributes.get_fn_attrs().items() if hasattr(attributes, "get_fn_attrs") else attributes.items()


def _aligned(attributes: Any, names: List[str]) -> Iterable[str]:
    for key, properties in _attributes(attributes):
        if any(p[0] == "tt.divisibility" and p[1] % 16 == 0 for p in properties):
            yield _name(key, names)


def _storage_bytes(value: Any) -> int:
    storage = getattr(value, "untyped_storage", None)
    return storage().size() if storage is not None else _TWO_GIB + 1


# ---------------------------------------------------------------- host functions by syntax tree


def _modules(state: State, variant: Optional[str], names: List[str]) -> Dict[str, str]:
    """Module name -> the text that runs as it, for ``names`` and the modules that the variant edits."""
    texts = {name: state.opened.text(variant, name) for name in sorted({*names, *state.opened.edited(variant)})}
    return {name: text for name, text in texts.items() if text is not None}


def host_hash(texts: Dict[str, str]) -> Dict[str, str]:
    """``module:qualname`` -> hash of the function's syntax tree, for every function of the texts (module name -> text).

    Positions, comments and formatting don't count; docstrings do (they can be read). What stands outside functions is ``module:``.
    """
    out: Dict[str, str] = {}
    for module, text in sorted(texts.items()):
        tree = ast.parse(text)
        _visit(tree, module, "", out)
        out[f"{module}:"] = _digest(_Hollow().visit(tree))
    return out


def _visit(node: ast.AST, module: str, prefix: str, out: Dict[str, str]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = prefix + child.name
            key, again = f"{module}:{name}", 1
            while key in out:  # redefined, under an if say
                again += 1
                key = f"{module}:{name}#{again}"
            out[key] = _digest(child)
            _visit(child, module, f"{name}.<locals>.", out)
        elif isinstance(child, ast.ClassDef):
            _visit(child, module, f"{prefix}{child.name}.", out)
        else:
            _visit(child, module, prefix, out)


class _Hollow(ast.NodeTransformer):
    """Takes the bodies out of functions, decorators and signatures stay."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # pyright: ignore[reportAssignmentType]  # noqa: N815 - ast's name; they have the same fields


def _digest(node: ast.AST) -> str:
    return hashlib.sha256(ast.dump(node).encode()).hexdigest()
