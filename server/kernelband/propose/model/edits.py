"""From checked functions to a patch: put them where the old ones stand, and look again at what then stands there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelband.errors import SourceError
from kernelband.propose.model.functions import Editable, Unreadable, editables, indentation, parsed
from kernelband.propose.model.rules import Refused
from kernelband.propose.model.together import check_together
from kernelband.source import make_patch
from kernelband.source.model import Edit, Patch, Program
from kernelband.source.syntax import all_nodes


def to_patch(program: Program, blocks: Mapping[str, str]) -> Patch:
    """The patch that puts each block (by label) in place of the function of that name.

    Raises:
        Refused: a block is not of this program, or its content isn't allowed; nothing is taken of the others then.
    """
    every = editables(program)
    by_label = {e.label: e for e in every}
    unknown = next((label for label in blocks if label not in by_label), None)
    if unknown is not None:
        raise Refused(f"There is no function {unknown} that may be rewritten: {', '.join(by_label)}.")
    trimmed = {label: _trimmed(written) for label, written in blocks.items()}
    edits: dict[str, list[Edit]] = {}
    checked: dict[str, list[tuple[Editable, ast.FunctionDef]]] = {}
    for label, function in check_together(program, every, trimmed).items():
        editable, (new, deep) = by_label[label], trimmed[label]
        path = editable.place.path
        text = program.texts[path]
        fitted = _fitted(new, function, deep, indentation(text, editable.span), "\r\n" if "\r\n" in text else "\n")
        edits.setdefault(path, []).append(Edit(editable.span, fitted))
        checked.setdefault(path, []).append((editable, function))
    try:
        patch = make_patch(program.texts, edits)
    except SourceError as error:
        raise Refused(error.message) from error
    if not patch.files:
        raise Refused("It changes nothing.")
    after = patch.apply(program.texts)
    for path, functions in checked.items():
        _look_again(program.texts[path], after[path], functions)
    return patch


def _trimmed(text: str) -> tuple[str, str]:
    """Without blank lines around it; and how deep its first line stands."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return "", ""
    body = lines[0].lstrip(" \t")
    deep = lines[0][: len(lines[0]) - len(body)]
    return "\n".join([body, *lines[1:]]), deep


def _fitted(text: str, function: ast.FunctionDef, deep: str, indent: str, newline: str) -> str:
    """Moved from one depth to another; lines inside of strings stay as they are."""
    first = 1 if deep else 0
    inside = {
        line - first
        for node in all_nodes(function)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno is not None
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
    out: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        plain = number == 1 or number in inside or not line.strip()
        out.append(line if plain else indent + line.removeprefix(deep))
    return newline.join(x.rstrip() if i + 1 not in inside else x for i, x in enumerate(out))


def _look_again(before: str, after: str, functions: list[tuple[Editable, ast.FunctionDef]]) -> None:
    """The file with its new functions must be the old one but for them, and they must be what was checked.

    Raises:
        Refused: it isn't so.
    """
    try:
        old, new = parsed(before), parsed(after)
    except Unreadable as error:
        raise Refused(f"With it the file is no longer Python: {error}.") from error
    for editable, function in functions:
        names = [n for n in editable.place.qualname.split(".") if n != "<locals>"]
        found = _taken_out(new, names)
        if ast.dump(found) != ast.dump(function) or _taken_out(old, names).name != function.name:
            raise Refused(f"{editable.label} would not be in the file as it was written.")
    if ast.dump(old) != ast.dump(new):
        raise Refused("It would change more of the file than its functions.")


def _taken_out(tree: ast.Module, names: list[str]) -> ast.FunctionDef:
    """The function of that path; ``pass`` stays in its place. Of several, all go, and the last one is given."""
    found: list[ast.FunctionDef] = []
    _take(tree, names, found)
    if not found:
        raise Refused(f"{'.'.join(names)} is not found by Python where it stands in the text.")
    return found[-1]


def _take(node: ast.AST, names: list[str], found: list[ast.FunctionDef]) -> None:
    for field, value in ast.iter_fields(node):
        if not isinstance(value, list):
            continue
        children: list[ast.AST] = [c for c in value if isinstance(c, ast.AST)]  # pyright: ignore[reportUnknownVariableType]
        for at, child in enumerate(children):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                if child.name != names[0]:
                    continue
                if len(names) > 1:
                    _take(child, names[1:], found)
                elif isinstance(child, ast.FunctionDef):
                    found.append(child)
                    getattr(node, field)[at] = ast.Pass()
            elif isinstance(child, ast.stmt):
                _take(child, names, found)
