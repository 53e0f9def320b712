"""What a module calls the packages that it imports."""

from __future__ import annotations

import ast


def module_alias(tree: ast.Module, package: str) -> str | None:
    """The name that ``import PACKAGE`` or ``import PACKAGE as NAME`` gives at the top of the module; None when it doesn't."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == package or (alias.asname is None and alias.name.startswith(f"{package}.")):
                    return alias.asname or package
    return None
