"""Which workspace modules a module refers to, read from its text: the graph that says how far an edit reaches."""

from __future__ import annotations

import ast
import functools
from typing import Dict, FrozenSet, Iterator, Optional, Set


def resolve(name: str, package: str, level: int) -> Optional[str]:
    """The absolute name of ``from ..name import``; None when it goes above the top package."""
    if level == 0:
        return name
    parts = package.split(".") if package else []
    if level > len(parts):
        return None
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if name else base


@functools.lru_cache(maxsize=4096)
def referenced(text: str, package: str) -> FrozenSet[str]:
    """Dotted names that may be modules which the text binds: the modules named by imports, ``from x import y`` as ``x`` and
    ``x.y``, and attribute chains on an imported name (``import pkg`` and later ``pkg.kernels.add``).

    ``import a.b as c`` and ``from a.b import d`` bind nothing of ``a``, so ``a`` isn't among them.
    """
    tree = ast.parse(text)
    found: Set[str] = set()
    bound: Dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.add(alias.name)
                if alias.asname:
                    bound[alias.asname] = alias.name
                else:
                    top = alias.name.partition(".")[0]
                    found.update(_prefixes(alias.name))
                    bound[top] = top
        elif isinstance(node, ast.ImportFrom):
            base = resolve(node.module or "", package, node.level)
            if base is None:
                continue
            found.add(base)
            for alias in node.names:
                if alias.name != "*":
                    found.add(f"{base}.{alias.name}")
                    bound[alias.asname or alias.name] = f"{base}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            chain = _chain(node)
            if chain is not None and chain.partition(".")[0] in bound:
                root, _, rest = chain.partition(".")
                found.update(_prefixes(f"{bound[root]}.{rest}"))
    return frozenset(found)


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _chain(node: ast.expr) -> Optional[str]:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
