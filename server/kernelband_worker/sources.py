"""The text of workspace modules, by name and content hash, and the names under which Python's tools find it again.

Nothing is read from the disk and nothing is written to it: files come over the protocol (``module/find``, ``blob/get``), and
``linecache`` holds their lines, so that ``inspect.getsource``, tracebacks and ``@triton.jit`` (which reads its own source) work.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import importlib.util
import io
import linecache
from dataclasses import dataclass
from types import CodeType
from typing import AbstractSet, Any, Callable, Dict, FrozenSet, Optional, Tuple

from kernelband_worker.errors import OperationFailed
from kernelband_worker.wire import EDITED_MARK, Function, ModuleFile

DIGITS = 8


def marked(path: str, variant: str) -> str:
    """The file name of the variant's text of ``path``."""
    return f"{path}{EDITED_MARK}{variant[:DIGITS]}"


def real_path(filename: str) -> str:
    """The path of a file name that may be marked: of a code object, a traceback or a compiler's line table."""
    head, mark, tail = filename.rpartition(EDITED_MARK)
    return head if mark and len(tail) == DIGITS else filename


@dataclass
class Text:
    """One text under one file name."""

    module: str
    path: str
    filename: str
    text: str
    sha256: str
    package: bool
    qualnames: Optional[Dict[Tuple[int, str], str]] = None  # by first line and name; filled when first asked


class Sources:
    """What the engine serves, each question asked once."""

    def __init__(self, ask: Callable[[str, Dict[str, Any]], Any]) -> None:
        self._ask = ask
        self._files: Dict[str, Optional[ModuleFile]] = {}
        self._names: Optional[FrozenSet[str]] = None
        self._contents: Dict[str, str] = {}
        self._texts: Dict[str, Text] = {}

    def find(self, name: str) -> Optional[ModuleFile]:
        """The workspace file of a module, or None."""
        if name not in self._files:
            self._files[name] = self._ask("module/find", {"name": name})
        return self._files[name]

    def names(self) -> FrozenSet[str]:
        """First components of the module names that the engine has by now; those of the first question, from then on."""
        if self._names is None:
            self._names = frozenset(self._ask("module/names", {})["names"])
        return self._names

    def content(self, sha256: str) -> str:
        """A text by its hash, line ends as Python reads them.

        Raises:
            OperationFailed: what came is not what was asked for.
        """
        if sha256 not in self._contents:
            raw = base64.b64decode(self._ask("blob/get", {"sha256": sha256})["base64"])
            if hashlib.sha256(raw).hexdigest() != sha256:
                raise OperationFailed("A file changed on its way to the worker: its content does not fit its hash.", "internal")
            self._contents[sha256] = _decode(raw)
        return self._contents[sha256]

    def open(self, file: ModuleFile, filename: str, sha256: str) -> Text:
        """The text of a module under ``filename``, made known to ``linecache``."""
        held = self._texts.get(filename)
        if held is None or held.sha256 != sha256:
            text = self.content(sha256)
            held = Text(file["name"], file["path"], filename, text, sha256, file["package"])
            self._texts[filename] = held
        # No time stamp: ``checkcache`` leaves the entry alone whatever the disk says.
        linecache.cache[filename] = (len(held.text), None, io.StringIO(held.text).readlines(), filename)
        return held

    def text(self, filename: str) -> Optional[Text]:
        """What was opened under that file name."""
        return self._texts.get(filename)

    def originals(self) -> Dict[str, str]:
        """Text by module name of what was opened under its real path."""
        return {text.module: text.text for filename, text in self._texts.items() if filename == text.path}

    def place(self, code: CodeType) -> Optional[Function]:
        """The workspace function that a code object belongs to; None for code from elsewhere."""
        text = self._texts.get(code.co_filename)
        if text is None:
            return None
        qualname = getattr(code, "co_qualname", None)  # Python >= 3.11
        if qualname is None:
            if text.qualnames is None:
                text.qualnames = _qualnames(text.text)
            qualname = text.qualnames.get((code.co_firstlineno, code.co_name), code.co_name)
        return {"module": text.module, "path": text.path, "qualname": qualname}


def _decode(raw: bytes) -> str:
    try:
        # The protocol's texts are UTF-8 whatever the file's own coding line says.
        text = raw.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError:
        return importlib.util.decode_source(raw)
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)


def _qualnames(text: str) -> Dict[Tuple[int, str], str]:
    """Qualname of each function by (first line of its code, name), as Python >= 3.11 knows it."""
    found: Dict[Tuple[int, str], str] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        within: str = prefix
        inside: AbstractSet[ast.AST] = frozenset()  # decorators and defaults aren't
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            found[first, node.name] = prefix + node.name
            within, inside = f"{prefix}{node.name}.<locals>.", set(node.body)
        elif isinstance(node, ast.ClassDef):
            within, inside = f"{prefix}{node.name}.", set(node.body)
        elif isinstance(node, ast.Lambda):
            found[node.lineno, "<lambda>"] = f"{prefix}<lambda>"
            within, inside = f"{prefix}<lambda>.<locals>.", {node.body}
        for child in ast.iter_child_nodes(node):
            visit(child, within if child in inside else prefix)

    visit(ast.parse(text), "")
    return found
