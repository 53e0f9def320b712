"""Which functions a variant edits, and which of them ran."""

from __future__ import annotations

import ast
import contextlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from triton.runtime.jit import JITFunction

from kernelband_worker.state import State

_Place = Tuple[str, str]  # module, qualname


@contextlib.contextmanager
def profiled(by: Optional[Callable[[Any, str, Any], Any]]) -> Iterator[None]:
    """Inside, Python's profiler on this thread is that one, or none: what was is put back."""
    before: Any = sys.getprofile()
    sys.setprofile(by)
    try:
        yield
    finally:
        if before is None or callable(before):
            sys.setprofile(before)
        else:
            before.enable()  # cProfile's, which is no function


def edited(state: State, variant: str) -> Set[_Place]:
    """Functions whose syntax tree is another one in the variant, new ones included. Comments and layout don't count."""
    found: Set[_Place] = set()
    for module in state.opened.edited(variant):
        before = functions(state.opened.text(None, module) or "")
        after = functions(state.opened.text(variant, module) or "")
        found |= {(module, name) for name, tree in after.items() if before.get(name) != tree}
    return found


def functions(text: str) -> Dict[str, str]:
    """The syntax tree of each function of a text, by qualname, without what its inner functions hold."""
    found: Dict[str, str] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                visit(child, f"{prefix}{child.name}.<locals>.")
                found[prefix + child.name] = ast.dump(_Hollow().visit(child))
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(text), "")
    return found


class _Hollow(ast.NodeTransformer):
    """Empties inner functions: they are compared by themselves."""

    def __init__(self) -> None:
        self._depth = 0

    def visit_FunctionDef(self, node: Any) -> Any:
        if self._depth:
            node.body = [ast.Pass()]
            return node
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815


class Reached:
    """Notes the functions that run: host functions by Python's profiler, kernels by their launches, with the helpers they call."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._codes: Set[Any] = set()
        self._kernels: List[JITFunction[Any]] = []

    def on_launch(self, event: Any) -> None:
        """A launch's kernel."""
        self._kernels.append(event.kernel)

    @contextlib.contextmanager
    def profiling(self) -> Iterator[None]:
        """Note every Python function that is called inside the block, on this thread."""

        def note(frame: Any, event: str, _: Any) -> None:
            if event == "call":
                self._codes.add(frame.f_code)

        with profiled(note):
            yield

    def places(self) -> Set[_Place]:
        """What ran, of the workspace's functions."""
        codes = set(self._codes)
        queue, seen = list(self._kernels), set()
        while queue:
            kernel = queue.pop()
            if id(kernel) in seen:
                continue
            seen.add(id(kernel))
            codes.add(kernel.fn.__code__)
            names = kernel.fn.__code__.co_names
            queue += [v for n in names if isinstance(v := kernel.fn.__globals__.get(n), JITFunction)]
        found = [self._state.opened.place(code) for code in codes]
        return {(p["module"], p["qualname"]) for p in found if p is not None}


def not_exercised(wanted: Set[_Place], reached: Set[_Place]) -> List[str]:
    """Edited functions that no case reached, by qualname, sorted."""
    return sorted(qualname for _, qualname in wanted - reached)
