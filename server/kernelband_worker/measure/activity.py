"""What the GPU does during some calls, as torch's profiler sees it."""

from __future__ import annotations

from typing import Any


def device_profile() -> Any:
    """A ``torch.profiler.profile`` of the GPU alone; its first use in a process costs about a second.

    There is one cycle, so nothing is left to accumulate over; but without ``acc_events`` torch warns of lost ones.
    """
    from torch.profiler import ProfilerActivity, profile

    return profile(activities=[ProfilerActivity.CUDA], acc_events=True)
