"""The one way in which the user's code is loaded: originals under their own names, variants as siblings, recorders put in.

Everything of the workspace comes over the protocol by content hash (``sources``), so what runs is what the editor shows, on
whatever machine the worker is.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import inspect
import sys
import traceback
from types import CodeType, ModuleType
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Union

from kernelband_worker import assertions, recorders
from kernelband_worker.errors import OperationFailed
from kernelband_worker.finder import BesideFinder, WorkspaceFinder, WorkspaceLoader, specification
from kernelband_worker.reports import left_out
from kernelband_worker.siblings import Siblings
from kernelband_worker.sources import Sources, Text, real_path
from kernelband_worker.wire import Function, ModuleFile, SessionParams, VariantFile, VariantFiles

#: ``wrap(function, callable)`` gives what stands in the callable's place.
Wrap = Callable[[Function, Callable[..., Any]], Callable[..., Any]]


class Loader:
    """Modules of the user, original and variants. ``ask`` sends a request to the engine and waits for the answer."""

    def __init__(self, ask: Callable[[str, Dict[str, Any]], Any], session: SessionParams) -> None:
        self.top_level: Set[str] = set(session["top_level"])
        self.sources = Sources(ask)
        self.recorded: List[Function] = []  # those of ``record`` that were found, as their modules were loaded
        self.executed = 0  # originals
        #: Without a GPU: whether an assertion that fails now says nothing.
        self.passed_over: Optional[Callable[[], bool]] = None
        self._codes: Dict[Tuple[str, str], Tuple[CodeType, bool]] = {}  # of texts under their real paths, by path and hash
        finder = WorkspaceFinder(self)
        self._finders = (finder, BesideFinder(finder))
        self._variants: Dict[str, Siblings] = {}
        self._wrap: Optional[Wrap] = None
        self._recorded: Dict[str, Dict[str, Function]] = {}  # by module, by qualname
        self._impersonated: Dict[str, VariantFile] = {}

    # ------------------------------------------------------------ set up

    def install(self) -> None:
        """Put the finder in front of Python's own, for the workspace's top-level names only, and another one behind them."""
        if self._finders[0] not in sys.meta_path:
            sys.meta_path[:] = [self._finders[0], *sys.meta_path, self._finders[1]]

    def uninstall(self) -> None:
        """Take the finders away and forget the workspace's modules: for tests that load several workspaces in one process."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in self._finders]
        for name in [name for name in sys.modules if name.partition(".")[0].partition("__kb_")[0] in self.top_level]:
            del sys.modules[name]

    def record(self, functions: Iterable[Function], wrap: Wrap) -> None:
        """Put ``wrap(function, callable)`` innermost around those functions, when their modules are loaded under their own names.

        Raises:
            OperationFailed: one of the modules is loaded already.
        """
        for function in functions:
            self._refuse_loaded(function["module"])
            self._recorded.setdefault(function["module"], {})[function["qualname"]] = function
        self._wrap = wrap

    def impersonate(self, variant: str) -> None:
        """Serve the variant's text under the original names: every way into the user's program then meets the variant.

        Raises:
            OperationFailed: one of its modules is loaded already, or the variant isn't registered.
        """
        files = self._siblings(variant).edited
        for module in files:
            self._refuse_loaded(module)
        self._impersonated = dict(files)

    def _refuse_loaded(self, module: str) -> None:
        if module in sys.modules:
            raise OperationFailed(f"{module} is loaded already: this needs a fresh executor.", "bad_request")

    def register(self, files: VariantFiles) -> None:
        """Make a variant known. Its texts are asked for when it is first loaded."""
        self._variants[files["id"]] = Siblings(self, files)

    # ------------------------------------------------------------ modules

    def original(self, module: str) -> ModuleType:
        """The user's module under its own name.

        Raises:
            OperationFailed: importing it fails; ``detail`` holds the program's own error.
        """
        return self._importing(module, lambda: importlib.import_module(module))

    def variant(self, variant: Optional[str], module: str) -> ModuleType:
        """The variant's module: a sibling where its edits reach, else the original. ``None`` is the original.

        Raises:
            OperationFailed: importing it fails, or the variant isn't registered.
        """
        if variant is None:
            return self.original(module)
        siblings = self._siblings(variant)
        if siblings.reach.module(module):
            return self._importing(module, lambda: siblings.get(module))
        return self._importing(module, lambda: siblings.seen(module)) if siblings.reach.whole(module) else self.original(module)

    def modules(self) -> List[ModuleType]:
        """The originals that are loaded."""
        own = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in self.top_level and "__kb_" not in name]
        return [module for module in own if isinstance(getattr(module, "__loader__", None), WorkspaceLoader)]

    def run_main(self, module: str) -> ModuleType:
        """Run the module as a script does: its ``__name__`` is ``__main__``. Recorders and impersonation apply.

        What the script raises is raised.
        """
        file = self.sources.find(module)
        if file is None or file["sha256"] is None:
            raise OperationFailed(f"There is no script {module} in the workspace.", "bad_request")
        made = importlib.util.module_from_spec(specification(file, WorkspaceLoader(self, file)))
        made.__name__ = "__main__"
        made.__package__ = module.rpartition(".")[0]
        before = sys.modules.get("__main__")
        sys.modules["__main__"] = made
        try:
            self.execute_original(made, file)
        finally:
            if before is not None:
                sys.modules["__main__"] = before
        return made

    def resolve(self, variant: Optional[str], function: Function) -> Any:
        """The function by module and qualname: a plain function, not bound, static and class methods unwrapped, decorators as written.

        A kernel comes as what its decorators made of it.

        Raises:
            OperationFailed: it is inside another function, is gone, or is a property.
        """
        qualname = function["qualname"]
        if "<locals>" in qualname:
            outer = qualname.partition(".<locals>")[0]
            raise OperationFailed(
                f"{qualname} is made anew by each call of {outer}, so it can't be called by itself: move it to module level, "
                "or let a case start at the function that calls it.",
                "unsupported",
            )
        found: Any = self.variant(variant, function["module"])
        missing = object()
        for part in qualname.split("."):
            found = inspect.getattr_static(found, part, missing) if isinstance(found, type) else getattr(found, part, missing)
            if found is missing:
                raise OperationFailed(f"{function['module']} has no {qualname} any more.", "bad_request")
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, property):
            raise OperationFailed(f"{qualname} is a property: only functions and methods can be called again.", "unsupported")
        return found

    def place(self, code: Any) -> Optional[Function]:
        """The workspace function of a code object, by its real path; None for code from elsewhere."""
        return self.sources.place(code)

    def edited(self, variant: Optional[str]) -> List[str]:
        """Names of the modules that the variant edits; none for the original."""
        return [] if variant is None else sorted(self._siblings(variant).edited)

    def text(self, variant: Optional[str], module: str) -> Optional[str]:
        """The text that runs as that module; None when it is no file of the workspace."""
        edit = None if variant is None else self._siblings(variant).edited.get(module)
        if edit is not None:
            return self.sources.content(edit["sha256"])
        file = self.sources.find(module) if module.partition(".")[0] in self.top_level else None
        return None if file is None or file["sha256"] is None else self.sources.content(file["sha256"])

    def texts(self, variant: Optional[str]) -> Dict[str, str]:
        """Text by module name: of all modules loaded so far, the variant's edited ones in its version."""
        found = self.sources.originals()
        if variant is not None:
            edited = self._siblings(variant).edited
            found.update({module: self.sources.content(file["sha256"]) for module, file in edited.items()})
        return found

    # ------------------------------------------------------------ for the finder and the siblings

    def open_original(self, file: ModuleFile) -> Text:
        """The text that runs under the module's own name."""
        edit = self._impersonated.get(file["name"])
        sha256 = edit["sha256"] if edit else file["sha256"]
        assert sha256 is not None
        return self.sources.open(file, file["path"], sha256)

    def execute_original(self, module: ModuleType, file: ModuleFile) -> None:
        """Run a module under its own name, with the recorders that are wanted in it."""
        wanted = self._recorded.get(file["name"], {})
        try:
            if not wanted or self._wrap is None:
                self.execute(module, self.open_original(file), {})
                return
            wrap = self._wrap

            def record(qualname: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
                return lambda function: wrap(wanted[qualname], function)

            self.execute(module, self.open_original(file), {recorders.RECORD: record}, wanted)
        finally:
            self.executed += 1

    def execute(self, module: ModuleType, text: Text, own_builtins: Dict[str, Any], wanted: Optional[Dict[str, Function]] = None) -> None:
        """Run a text as the module, with some builtins of its own and recorders on the ``wanted`` functions."""
        code, asks = self._recording(text, wanted) if wanted else self._plain(text)
        if asks and self.passed_over is not None:
            own_builtins = {**own_builtins, assertions.PASSED_OVER: lambda: self.passed_over is not None and self.passed_over()}
        if own_builtins:
            vars(module)["__builtins__"] = {**vars(builtins), **own_builtins}
        exec(code, vars(module))

    def _recording(self, text: Text, wanted: Dict[str, Function]) -> Tuple[CodeType, bool]:
        tree = ast.parse(text.text, text.filename)
        for qualname in sorted(recorders.place(tree, wanted)):
            self.recorded.append(wanted[qualname])
        return self._compiled(tree, text)

    def _plain(self, text: Text) -> Tuple[CodeType, bool]:
        """Of a text under its real path once: every variant that reaches it runs it again."""
        key = (text.filename, text.sha256)
        found = self._codes.get(key) or self._compiled(text.text, text)
        if text.filename == text.path:
            self._codes[key] = found
        return found

    def _compiled(self, source: Union[str, ast.Module], text: Text) -> Tuple[CodeType, bool]:
        """The code, and whether it asks about assertions that fail."""
        asks = False
        if self.passed_over is not None:
            source = ast.parse(source, text.filename) if isinstance(source, str) else source
            asks = assertions.guard(source)
        return compile(source, text.filename, "exec", dont_inherit=True), asks

    def _siblings(self, variant: str) -> Siblings:
        found = self._variants.get(variant)
        if found is None:
            raise OperationFailed(f"Variant {variant[:8]} isn't loaded in this executor.", "bad_request")
        return found

    def _importing(self, module: str, action: Callable[[], ModuleType]) -> ModuleType:
        try:
            with left_out():
                return action()
        except (KeyboardInterrupt, OperationFailed):
            raise
        except BaseException as error:
            raise import_failure(module, error, self) from error


def import_failure(module: str, error: BaseException, loader: Loader) -> OperationFailed:
    """What the user is told when importing their module fails, with the line of theirs where it did."""
    at: Dict[str, Any] = {}
    if isinstance(error, SyntaxError) and error.filename is not None:
        at = {"path": real_path(error.filename), "line": error.lineno or 1}
    for frame in traceback.extract_tb(error.__traceback__):
        if not isinstance(error, SyntaxError) and loader.sources.text(frame.filename) is not None:
            at = {"path": real_path(frame.filename), "line": frame.lineno or 1}
    said = "".join(traceback.format_exception_only(type(error), error)).strip()
    where = f" ({at['path']}, line {at['line']})" if at else ""
    return OperationFailed(f"Importing {module} fails{where}: {said}", "import_failed", detail=said, **at)
