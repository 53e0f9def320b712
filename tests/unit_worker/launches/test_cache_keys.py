"""What compile children put into Triton's cache is what the executor finds there: keys don't depend on process or variant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit_worker.launches.programs import FILES, KERNELS

CHILD = """
import json, sys
from kernelband_worker.loader import Loader
from tests.unit_worker.served import Served
files, edited, ids = json.load(sys.stdin)
served = Served(files)
loader = Loader(served.ask, served.session())
loader.install()
keys = {}
for id in ids:
    if id:
        loader.register(served.variant(id, **edited))
    module = loader.variant(id or None, "lw.kernels")
    keys[id] = [module.plain.cache_key, module.takes_function.cache_key, module.plain._fn_name]
print(json.dumps(keys))
"""

ONE, TWO = "1" * 64, "2" * 64


def keys(edited, ids):
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'server'}{os.pathsep}{root}", "PYTHONHASHSEED": "random"}
    said = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps([FILES, edited, ids]),
        capture_output=True,
        text=True,
        timeout=250,
        env=environment,
        check=True,
    )
    return json.loads(said.stdout)


def test_keys_are_the_same_in_every_process_and_for_unchanged_kernels():
    # A variant that changes nothing above or in the kernel keeps its key; one that edits the helper changes those that use it.
    below = keys({"lw__kernels": KERNELS + "\n# more\n"}, ["", ONE, TWO])
    assert below[""] == below[ONE] == below[TWO]
    edited = keys({"lw__kernels": KERNELS.replace("x * N", "x + N")}, [ONE, ""])
    assert edited[""] == below[""]
    assert edited[ONE][0] != edited[""][0]
    assert edited[ONE][1] == edited[""][1]


def test_an_edited_kernel_has_one_key_in_every_process():
    text = {"lw__kernels": KERNELS.replace("+ s", "- s")}
    assert keys(text, [ONE])[ONE] == keys(text, ["", TWO])[TWO]
