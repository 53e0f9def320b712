"""Under the worker's Python: calls the original and each variant of an example, on the GPU or on the CPU under Triton's interpreter.

Standard input: {"example": name, "device": "cpu" | "cuda", "texts": [original, variant, ...]}.
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

torch.set_default_device(JOB["device"])


def load(text, name):
    """A module of that text; linecache serves it to Triton, which reads the source of each kernel."""
    path = f"/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def calls(example, module):
    """Outputs of the example's function, for shapes that are multiples of blocks and shapes that are not."""
    torch.manual_seed(0)
    if example == "vector_add":
        for n in (20 * 1024, 9000, 1):
            yield module.add(torch.rand(n), torch.rand(n))
    elif example == "fused_softmax":
        for shape in ((37, 781), (9, 1024), (3, 100)):
            yield module.softmax(torch.randn(shape))
    elif example == "layer_norm":
        for rows, features, dtype in ((5, 1000, torch.float32), (3, 2048, torch.float16), (1, 100, torch.float16)):
            yield module.layer_norm(torch.randn(rows, features).to(dtype), torch.rand(features).to(dtype), torch.rand(features).to(dtype))
    elif example == "matmul":
        for m, n, k in ((192, 320, 72), (64, 64, 32)):
            yield module.matmul(torch.randn(m, k).half(), torch.randn(k, n).half())
    else:
        for rows in (1, 50):  # the sample of test_equal_results
            yield module.scale_rows(torch.randn(rows, 96), torch.rand(96))


def difference(example, text, name, expected):
    """One sentence, or None when all outputs are equal up to rounding."""
    try:
        for want, got in zip(expected, calls(example, load(text, name)), strict=True):
            torch.testing.assert_close(got, want, **({"rtol": 1e-2, "atol": 1e-2} if want.dtype == torch.float16 else {}))
    except Exception as error:  # noqa: BLE001  # whatever the variant does wrong is what is reported
        return f"{type(error).__name__}: {error}"
    return None


def main():
    expected = list(calls(JOB["example"], load(JOB["texts"][0], "original")))
    print(json.dumps([difference(JOB["example"], t, f"variant_{i}", expected) for i, t in enumerate(JOB["texts"])]))


if __name__ == "__main__":
    main()
