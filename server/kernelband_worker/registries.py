"""Tables of other modules into which a module puts its functions and classes as it is loaded: a variant's module leaves them as they were.

Otherwise what looks a function up by its name would find the last variant's, the original too; and a table that takes each name once
would refuse every variant. While a sibling is loaded, what its original put into tables is out of them.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict, defaultdict
from types import FunctionType, ModuleType
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple, Union

Table = Union[Dict[Any, Any], List[Any]]
_TABLES = (dict, list, OrderedDict, defaultdict)  # others may do more than hold


class Registries:
    """The tables of modules, by what they hold: looked through once, for a repository has thousands."""

    def __init__(self, modules: Sequence[ModuleType]) -> None:
        self._of: Dict[str, List[Table]] = {}
        names = {module.__name__ for module in modules}
        found: Dict[int, Tuple[Table, Set[str]]] = {}
        for module in modules:
            for table in _tables(module, names):
                found.setdefault(id(table), (table, set()))[1].add(module.__name__)
        for table, holders in found.values():
            for name in {name for entry in _entries(table) for name in _definers(entry)} & names:
                if holders - {name}:
                    self._of.setdefault(name, []).append(table)

    @contextlib.contextmanager
    def as_before(self, name: str) -> Iterator[None]:
        """While the block runs, what the module ``name`` defines is in no table of the other modules; afterwards they hold what they held,
        and what others put into them meanwhile.
        """
        kept: List[Tuple[Table, List[Any]]] = []
        for table in self._of.get(name, ()):
            held = _entries(table)
            kept.append((table, held))
            _fill(table, [entry for entry in held if name not in _definers(entry)])
        try:
            yield
        finally:
            for table, held in kept:
                known = {_label(table, entry) for entry in held}
                new = [entry for entry in _entries(table) if name not in _definers(entry) and _label(table, entry) not in known]
                _fill(table, held + new)


def _tables(module: ModuleType, names: Set[str]) -> Iterator[Table]:
    """Those at its top, and those that its classes and objects of classes of the modules of those names hold."""
    for value in [value for key, value in vars(module).items() if not key.startswith("__")]:
        kind: Any = value if isinstance(value, type) else type(value)
        held: List[Any] = [value, *(getattr(value, "__dict__", {}).values() if kind.__module__ in names else ())]
        for table in held:
            if type(table) in _TABLES:
                yield table


def _entries(table: Table) -> List[Any]:
    return list(table.items()) if isinstance(table, dict) else list(table)


def _label(table: Table, entry: Any) -> Any:
    return entry[0] if isinstance(table, dict) else id(entry)


def _fill(table: Table, entries: List[Any]) -> None:
    table.clear()
    table.update(entries) if isinstance(table, dict) else table.extend(entries)


def _definers(entry: Any) -> Set[str]:
    """The modules in which it is defined, or what it is made of; of a pair or the like, of what it holds."""
    if isinstance(entry, (tuple, list)):
        return {name for part in entry for name in _definers(part)}
    if isinstance(entry, (FunctionType, type)):
        return {entry.__module__}
    held = getattr(entry, "__dict__", None)
    return {name for name in (held.get("__module__"), type(entry).__module__) if isinstance(name, str)} if isinstance(held, dict) else set()
