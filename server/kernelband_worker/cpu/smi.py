"""An ``nvidia-smi`` that knows the GPU which a program is to believe in: projects run it to see whether there is one, and which."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator

from kernelband_worker.environment import REAL_PATH
from kernelband_worker.wire import SCRATCH

NAME = "nvidia-smi"
#: Answers ``-L``, and ``--query-gpu`` with what is known; what isn't is said as the tool says it. Anything else succeeds without a word.
_SCRIPT = """#!/bin/sh
for asked in "$@"; do
  case "$asked" in
    -L | --list-gpus) printf 'GPU 0: %s\\n' {name} ;;
    --query-gpu=*)
      line= IFS=,
      for field in ${{asked#*=}}; do
        case "$field" in
{fields}
          *) value='[N/A]' ;;
        esac
        line="${{line:+$line, }}$value"
      done
      printf '%s\\n' "$line" ;;
  esac
done
"""


@contextlib.contextmanager
def on_path(properties: Any) -> Iterator[None]:
    """The tool is found inside the block, unless there is a real one.

    Args:
        properties: ``torch.cuda.get_device_properties`` of the GPU.
    """
    if shutil.which(NAME) is not None or os.name != "posix":
        yield
        return
    before = os.environ.get("PATH", os.defpath)
    with tempfile.TemporaryDirectory(prefix="smi-", dir=os.environ.get(SCRATCH)) as folder:
        file = Path(folder, NAME)
        file.write_text(_script(properties))
        file.chmod(0o755)
        os.environ.update({"PATH": os.pathsep.join((folder, before)), REAL_PATH: before})
        try:
            yield
        finally:
            os.environ["PATH"] = before
            os.environ.pop(REAL_PATH, None)


def _script(properties: Any) -> str:
    known: Dict[str, str] = {
        "name|gpu_name": properties.name,
        "compute_cap": f"{properties.major}.{properties.minor}",
        "count": "1",
        "index": "0",
    }
    if hasattr(properties, "total_memory"):
        known["memory.total"] = f"{properties.total_memory >> 20} MiB"
    fields = "\n".join(f"          {names}) value={shlex.quote(value)} ;;" for names, value in known.items())
    return _SCRIPT.format(name=shlex.quote(properties.name), fields=fields)
