"""Packages of random texts that hand names on to each other, and edits of their numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

#: In an order in which none needs one that comes later while it is imported, and so none half made.
MODULES = ("base", "sub", "sub.x", "mid", "late", "", "use")
NUMBERS, FUNCTIONS = ("K", "L", "M"), ("f", "g", "h")
Names = dict[str, str]  # "number" or "function" of each


def full(module: str) -> str:
    return f"fz.{module}" if module else "fz"


def path(module: str) -> str:
    return f"fz/{module}/__init__.py" if module == "sub" else f"fz/{module.replace('.', '/')}.py" if module else "fz/__init__.py"


class Package:
    """``texts`` by path, and what each module of ``names`` binds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: dict[str, Names] = {}
        self.texts: dict[str, str] = {}
        for module in MODULES:
            self.texts[path(module)] = _Text(self, module).written()

    def edited(self) -> dict[str, str]:
        """One or two modules with other numbers; none where they have no number."""
        found: dict[str, str] = {}
        for module in self.random.sample(MODULES, self.random.randint(1, 2)):
            text = self.texts[path(module)]
            new = re.sub(r"(?<![\w.'])\d(?!\w)", lambda digit: str((int(digit.group()) + self.random.randint(1, 8)) % 10), text)
            if new != text:
                found[module] = new
        return found


class _Text:
    def __init__(self, package: Package, module: str) -> None:
        self.random, self.above = package.random, package.names
        self.lines: list[str] = ["import fz"] if self.random.random() < 0.5 else []
        self.names: Names = {}
        self.module = module

    def written(self) -> str:
        ways: list[Callable[[], None]] = [self._taken] * 5 + [self._number, self._sum, self._branch, self._table, self._class, self._loop]
        for _ in range(self.random.randint(1, 5)):
            self.random.choice([*ways, self._unpacked])()
        self._reader()
        self.above[self.module] = self.names
        return "\n".join(self.lines) + "\n"

    def _bind(self, kind: str, text: str) -> None:
        name = self.random.choice(NUMBERS if kind == "number" else FUNCTIONS)
        self.lines.append(text.format(name=name))
        self.names[name] = kind

    def _own(self, kind: str) -> str | None:
        return self.random.choice([name for name, of in self.names.items() if of == kind] or [None])

    def _taken(self) -> None:
        module = self.random.choice([m for m, names in self.above.items() if names] or [None])
        if module is None:
            return
        of = full(module)
        taken = self.random.choice(sorted(self.above[module]))
        kind = self.above[module][taken]
        way = self.random.randrange(5)
        if way == 0:
            self._bind(kind, f"from {of} import {taken} as {{name}}")
        elif way == 1:
            self.lines.append(f"from {of} import {taken}")
            self.names[taken] = kind
        elif way == 2:
            self._bind(kind, f"import {of} as z\n{{name}} = z.{taken}")
        elif way == 3:
            self.lines.append(f"from {of} import *")
            self.names.update(self.above[module])
        else:
            call = "()" if kind == "function" else ""
            self._bind("function", f"def {{name}}():\n    import {of}\n    return {of}.{taken}{call}")

    def _number(self) -> None:
        self._bind("number", f"{{name}} = {self.random.randint(1, 9)}")

    def _sum(self) -> None:
        if number := self._own("number"):
            self._bind("number", f"{{name}} = {number} + 1")

    def _branch(self) -> None:
        if (number := self._own("number")) and (function := self._own("function")):
            self._bind("function", f"if {number} > 5:\n    {{name}} = {function}\nelse:\n    def {{name}}():\n        return 'else'")

    def _table(self) -> None:
        if function := self._own("function"):
            self._bind("function", f"T = {{{{'k': {function}}}}}\ndef {{name}}(of=T):\n    return of['k']()")

    def _class(self) -> None:
        if number := self._own("number"):
            self._bind(
                "function", f"class C:\n    V = {number}\n    def m(self):\n        return self.V\ndef {{name}}(of=C):\n    return of().m()"
            )

    def _loop(self) -> None:
        if number := self._own("number"):
            self._bind("number", f"for {{name}} in ({number}, {number} + 2):\n    pass\n{{name}} = {{name}} * 2")

    def _unpacked(self) -> None:
        if number := self._own("number"):
            self._bind("number", f"S = [{number}]\nS.append({number})\n{{name}}, _ = S")

    def _reader(self) -> None:
        """A function that gives a number of its own and much of what the module has, or reads through the package."""
        name = self.random.choice(FUNCTIONS)
        read = [other + ("()" if kind == "function" else "") for other, kind in self.names.items() if other != name]
        read = [text for text in read if self.random.random() < 0.6]
        below = [module for module, names in self.above.items() if module and names]
        if below and "import fz" in self.lines:
            module = self.random.choice(below)
            of = self.random.choice(sorted(self.above[module]))
            read.append(f"{full(module)}.{of}" + ("()" if self.above[module][of] == "function" else ""))
        self.lines.append(f"def {name}():\n    return ({self.random.randint(1, 9)}, {''.join(f'{text}, ' for text in read)})")
        self.names[name] = "function"
