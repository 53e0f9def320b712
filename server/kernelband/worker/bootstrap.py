"""What is sent to the other Python: a short program on its command line, then the worker's package as a zip."""

from __future__ import annotations

import base64
import importlib.machinery
import importlib.resources
import importlib.util
import io
import marshal
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernelband_worker import scrub, system

if TYPE_CHECKING:
    from importlib.abc import Traversable

PACKAGE = "kernelband_worker"
OLDEST_PYTHON = (3, 9)
SIZE_DIGITS = 10  # of the archive's size in bytes, which comes before it
UNCHECKED = 1  # the flags of bytecode that holds its source's hash, and stands without a look at the source (PEP 552)

#: Free of quotes, ``!``, ``$``, backslashes and line ends: every login shell passes it on unchanged. The current folder goes off
#: the path first, or a user's ``base64.py`` would be imported.
LAUNCH = "import sys;sys.path=[p for p in sys.path if p];import base64;exec(base64.b64decode(sys.argv[1]))"

# Runs on any Python back to 2.7 as far as the version line, so that an old one can be told from no Python at all.
_PROGRAM = """\
import os, sys
if os.name == "nt":
    import msvcrt
    msvcrt.setmode(0, os.O_BINARY), msvcrt.setmode(1, os.O_BINARY)
v = sys.version_info
os.write(1, ("\\n%s %d.%d.%d\\n" % ("{marker}", v[0], v[1], v[2])).encode("ascii"))
if v < {oldest}:
    sys.exit(0)
import tempfile
def take(missing):
    parts = []
    while missing:
        part = os.read(0, min(missing, 65536))
        if not part:
            sys.exit(0)
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
content = take(int(take({digits})))
scratch = os.path.realpath(tempfile.mkdtemp(prefix="{prefix}" + os.environ.get("{mark}", "")))
try:
    archive = os.path.join(scratch, "worker.zip")
    with open(archive, "wb") as out:
        out.write(content)
    sys.path.insert(0, archive)
    from kernelband_worker.boot import main
except BaseException:
    import shutil
    shutil.rmtree(scratch, True)
    raise
main(scratch, archive, "{executor}")
"""


def program(marker: str, executor: str) -> str:
    """The command line's program as base64: prints ``marker`` and its version, reads what ``framed`` gives, starts the supervisor."""
    text = _PROGRAM.format(
        marker=marker, digits=SIZE_DIGITS, executor=executor, oldest=OLDEST_PYTHON, prefix=system.SCRATCH_PREFIX, mark=scrub.RUN_MARK
    )
    return base64.b64encode(text.encode("ascii")).decode("ascii")


def framed(archive: bytes) -> bytes:
    """The archive after its size."""
    return b"%0*d%b" % (SIZE_DIGITS, len(archive), archive)


def archive(extra: Mapping[str, bytes], *, compiled: bool = False) -> bytes:
    """The worker's package as a zip: the same bytes for the same sources.

    Args:
        extra: further files by path in the zip; tests bring operations of their own.
        compiled: with this Python's bytecode beside the sources, twice as large; a Python of another version passes it over. Each of a
            worker's processes would else compile what it imports, half a second of work.
    """
    modules = dict(_modules(importlib.resources.files(PACKAGE), PACKAGE))
    files = {name: entry.read_bytes() for name, entry in modules.items()}
    files.update(extra)
    if compiled:
        files |= {
            f"{name}c": code for name, entry in modules.items() if name not in extra and (code := _bytecode(name, entry, files[name]))
        }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(files):
            file.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_STORED if name.endswith(".pyc") else zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _bytecode(name: str, entry: Traversable, source: bytes) -> bytes | None:
    """What a module is compiled to, from this Python's cache; None where there is none and it can't be kept, so that it would be compiled
    each time.
    """
    if not isinstance(entry, Path):
        return None
    if not Path(importlib.util.cache_from_source(entry)).exists() and (sys.dont_write_bytecode or not os.access(entry.parent, os.W_OK)):
        return None
    module = name.removesuffix(".py").replace("/", ".")
    code = importlib.machinery.SourceFileLoader(module, str(entry)).get_code(module)
    head = importlib.util.MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + importlib.util.source_hash(source)
    return head + marshal.dumps(code)


def _modules(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _modules(entry, name)
        elif entry.name.endswith(".py"):
            yield name, entry
