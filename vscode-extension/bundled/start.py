"""Starts the kernelband that the extension carries: ``python start.py [--cache FOLDER] [--packages FOLDER] COMMAND ...``.

What it carries comes before everything else that this Python can import. The first FOLDER keeps its bytecode, since the extension's own
may be read-only; the second has the compiled packages of the search.
"""

import sys
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path


def main() -> None:
    """Put the folders on the path, and be the command line."""
    libs = str(Path(__file__).resolve().parent / "libs")
    cache, packages = taken("--cache"), taken("--packages")
    if cache:
        keep_bytecode(libs, cache)
    sys.path[:0] = [libs, *([packages] if packages else [])]
    from kernelband.cli import main as command_line

    command_line()


def taken(option: str) -> str:
    """The option's value, taken out of the arguments if it comes first; "" where it doesn't."""
    if sys.argv[1:2] != [option]:
        return ""
    value = sys.argv[2]
    del sys.argv[1:3]
    return value


def keep_bytecode(libs: str, cache: str) -> None:
    """Keep the bytecode of what is below ``libs`` in ``cache``; ``sys.pycache_prefix`` for all would compile Python's own modules anew."""

    class Kept(SourceFileLoader):
        def get_code(self, fullname):
            sys.pycache_prefix = cache
            try:
                return super().get_code(fullname)
            finally:
                sys.pycache_prefix = None

    find = FileFinder.path_hook((Kept, [".py"]))

    def hook(path: str) -> object:
        if not path.startswith(libs):
            raise ImportError(path)  # another hook's
        return find(path)

    sys.path_hooks.insert(0, hook)


if __name__ == "__main__":
    main()
