"""Under the worker's Python: runs each text's ``run(device)`` under Triton's interpreter, or on the GPU, against the first text's outputs.

Standard input: {"device": "cpu" | "cuda", "texts": [original, variant, ...]}.
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


def load(text, name):
    """A module of that text; linecache serves it to Triton, which reads the source of each kernel."""
    path = f"/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def difference(text, name, expected):
    """One sentence, or None when all outputs are equal up to rounding."""
    try:
        for want, got in zip(expected, load(text, name).run(JOB["device"]), strict=True):
            torch.testing.assert_close(got, want, **({"rtol": 1e-2, "atol": 1e-2} if want.dtype == torch.float16 else {}))
    except Exception as error:  # noqa: BLE001  # whatever the variant does wrong is what is reported
        return f"{type(error).__name__}: {error}"
    return None


def main():
    expected = list(load(JOB["texts"][0], "original").run(JOB["device"]))
    print(json.dumps([difference(text, f"variant_{i}", expected) for i, text in enumerate(JOB["texts"])]))


if __name__ == "__main__":
    main()
