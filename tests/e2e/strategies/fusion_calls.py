"""Under the worker's Python: calls ``results()`` of the original and of each variant, on the CPU under Triton's interpreter or on the GPU.

With the device "sm_90" every launch is compiled for that GPU instead, and not run: the interpreter knows no types.

Standard input: {"device": "cpu" | "cuda" | "sm_90", "texts": [original, variant, ...]}.
Standard output, last line: a list with null for equal, else what differs.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import types

JOB = json.load(sys.stdin)
if JOB["device"] == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402  # after the variable that it reads

torch.set_default_device("cpu" if JOB["device"] == "sm_90" else JOB["device"])


class Driver:
    """What the compiler asks a driver for."""

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


def compile_only():
    """Launches compile, and no more."""
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    driver.set_active(Driver())
    run = JITFunction.run
    JITFunction.run = lambda self, *args, **options: run(self, *args, **{**options, "warmup": True})


def results(text, name):
    """What the module's ``results`` returns; linecache serves the text to Triton, which reads the source of each kernel."""
    path = f"/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    torch.manual_seed(0)
    return module.results()


def difference(text, name, expected):
    """One sentence, or None when all outputs are equal up to rounding."""
    try:
        found = results(text, name)
        if JOB["device"] == "sm_90":
            return None
        if len(found) != len(expected):
            return f"{len(found)} results instead of {len(expected)}"
        for want, got in zip(expected, found):  # noqa: B905  # Python 3.9
            loose = {"rtol": 1e-2, "atol": 1e-2} if want.dtype == torch.float16 else {}
            torch.testing.assert_close(got, want, equal_nan=True, **loose)
    except Exception as error:  # noqa: BLE001  # whatever the variant does wrong is what is reported
        return f"{type(error).__name__}: {error}"
    return None


if JOB["device"] == "sm_90":
    compile_only()
expected = results(JOB["texts"][0], "original")
print(json.dumps([difference(t, f"variant_{i}", expected) for i, t in enumerate(JOB["texts"])]))
