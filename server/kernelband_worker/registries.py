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


@contextlib.contextmanager
def as_before(name: str, modules: Sequence[ModuleType]) -> Iterator[None]:
    """While the block runs, what the module ``name`` defines is in no table of the other ``modules``; afterwards they hold what they held,
    and what others put into them meanwhile.
    """
    kept: List[Tuple[Table, List[Any]]] = []
    for table in _tables([module for module in modules if module.__name__ != name]):
        held = _entries(table)
        left = [entry for entry in held if not _is_of(entry, name)]
        if len(left) < len(held):
            kept.append((table, held))
            _fill(table, left)
    try:
        yield
    finally:
        for table, held in kept:
            known = {_label(table, entry) for entry in held}
            new = [entry for entry in _entries(table) if not _is_of(entry, name) and _label(table, entry) not in known]
            _fill(table, held + new)


def _tables(modules: Sequence[ModuleType]) -> Iterator[Table]:
    """Each once: those at the top of the modules, and those that their classes, and objects of these, hold."""
    names = {module.__name__ for module in modules}
    seen: Set[int] = set()
    for module in modules:
        for value in [value for key, value in vars(module).items() if not key.startswith("__")]:
            if id(value) in seen:
                continue
            seen.add(id(value))
            kind: Any = value if isinstance(value, type) else type(value)
            held: List[Any] = [value, *(getattr(value, "__dict__", {}).values() if kind.__module__ in names else ())]
            for table in held:
                if type(table) in _TABLES and (table is value or id(table) not in seen):
                    seen.add(id(table))
                    yield table


def _entries(table: Table) -> List[Any]:
    return list(table.items()) if isinstance(table, dict) else list(table)


def _label(table: Table, entry: Any) -> Any:
    return entry[0] if isinstance(table, dict) else id(entry)


def _fill(table: Table, entries: List[Any]) -> None:
    table.clear()
    table.update(entries) if isinstance(table, dict) else table.extend(entries)


def _is_of(entry: Any, name: str) -> bool:
    """Whether it is defined in the module or made of what is, or is a pair or the like that holds such a thing."""
    if isinstance(entry, (tuple, list)):
        return any(_is_of(part, name) for part in entry)
    if isinstance(entry, (FunctionType, type)):
        return entry.__module__ == name
    held = getattr(entry, "__dict__", None)
    return isinstance(held, dict) and (held.get("__module__") == name or type(entry).__module__ == name)
