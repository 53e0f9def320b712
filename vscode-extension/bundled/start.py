"""Starts the kernelband that the extension carries: ``python start.py [--packages FOLDER] COMMAND ...``.

What it carries comes before everything else that this Python can import. FOLDER has the compiled packages of the search.
"""

import sys
from pathlib import Path


def main() -> None:
    """Put the folders on the path, and be the command line."""
    libs = str(Path(__file__).resolve().parent / "libs")
    given = sys.argv[1:]
    packages = given[1:2] if given[:1] == ["--packages"] else []
    sys.path[:0] = [libs, *packages]
    sys.argv[1:] = given[2:] if packages else given
    from kernelband.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
