"""What the GPU does during some calls, as torch's profiler sees it."""

from __future__ import annotations

from typing import Any


def device_profile() -> Any:
    """A context manager that watches the GPU alone, and has what it saw in ``function_events``; its first use in a process costs about a
    second.

    It is what ``torch.profiler.profile`` wraps; that one asks for the settings of torch's compiler first and so imports it: 8 s.
    """
    from torch.autograd.profiler import profile

    return profile(use_cpu=False, use_device="cuda", use_kineto=True)
