"""Under the worker's Python: runs ``outputs()`` of the original and of each variant, on the CPU under Triton's interpreter or on the GPU.

Standard input: {"device": "cpu" | "cuda", "texts": [original, variant, ...]}.
Standard output, last line: a list with null for equal, else what differs.
"""

from __future__ import annotations

import json
import os
import sys

JOB = json.load(sys.stdin)
if JOB["device"] == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

import linecache  # noqa: E402
import types  # noqa: E402

import torch  # noqa: E402  # after the variable that it reads

torch.set_default_device(JOB["device"])


def outputs(text, name):
    """What the module of that text computes, with the same random numbers each time."""
    path = f"/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    torch.manual_seed(0)
    return list(module.outputs())


def difference(text, name, expected):
    """One sentence, or None when all outputs are equal up to rounding."""
    try:
        for want, got in zip(expected, outputs(text, name), strict=True):
            torch.testing.assert_close(got, want, **({"rtol": 1e-2, "atol": 1e-2} if want.dtype == torch.float16 else {}))
    except Exception as error:  # noqa: BLE001  # whatever the variant does wrong is what is reported
        return f"{type(error).__name__}: {error}"
    return None


def main():
    expected = outputs(JOB["texts"][0], "original")
    print(json.dumps([difference(t, f"variant_{i}", expected) for i, t in enumerate(JOB["texts"])]))


if __name__ == "__main__":
    main()
