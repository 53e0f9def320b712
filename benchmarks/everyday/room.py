"""Under the program's own Python: what each kernel's launches take on the GPU, and how many bytes their tensors hold.

    room.py INPUTS FOLDER '{"FILE::KERNEL": "FUNCTION", ...}'

A line of JSON for each kernel, as they come. Each function is called twice, so that tuners have chosen, and three times under the profiler.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile
from triton.runtime.jit import JITFunction

CALLS = 3
HELD = {}  # by kernel: bytes of its last launch's tensors, each counted once


def watch():
    """Note of each launch what it is given."""
    run = JITFunction.run

    def watched(self, *args, **options):
        if not options.get("warmup"):
            tensors = [t for t in (*args, *options.values()) if isinstance(t, torch.Tensor)]
            sizes = {}
            for tensor in tensors:
                sizes[tensor.data_ptr()] = max(sizes.get(tensor.data_ptr(), 0), tensor.numel() * tensor.element_size())
            HELD[self.fn.__name__] = sum(sizes.values())
        return run(self, *args, **options)

    JITFunction.run = watched


def looked_at(function):
    """Microseconds of a call by kernel of the GPU."""
    torch.manual_seed(0)
    for _ in range(2):
        function()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(CALLS):
            function()
        torch.cuda.synchronize()
    found = {}
    for event in profiled.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            found[event.name] = found.get(event.name, 0.0) + event.time_range.elapsed_us() / CALLS
    return found


def main(inputs, folder, kernels):
    if not torch.cuda.is_available():
        sys.exit("Nothing can be looked at here: torch finds no GPU.")
    top = Path(folder, next(iter(kernels)).partition("::")[0]).parent
    while (top / "__init__.py").exists():
        top = top.parent
    sys.path.insert(0, str(top))
    watch()
    spec = importlib.util.spec_from_file_location(Path(inputs).stem, inputs)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for kernel, name in kernels.items():
        HELD.clear()
        begin, short = time.monotonic(), kernel.rpartition("::")[2]
        try:
            found = looked_at(getattr(module, name))
            told = {"us": found.pop(short, None), "bytes": HELD.get(short), "beside_us": sum(found.values()), "refused": ""}
        except Exception as error:  # noqa: BLE001 - whatever a project's function raises is what is told of it
            told = {"us": None, "bytes": None, "beside_us": 0.0, "refused": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps({"kernel": kernel, **told, "seconds": time.monotonic() - begin}), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
