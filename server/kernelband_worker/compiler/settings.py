"""Settings of Triton that have to be the same in every executor of a run, because they are part of its cache key."""

from __future__ import annotations

from typing import MutableMapping


def settle(environment: MutableMapping[str, str]) -> None:
    """Call once per executor, before the user's code is imported.

    Triton 3.9 warns when TRITON_DEFAULT_FP_FUSION is not set; 1 is its default, so setting it changes no code. It is part of the cache key:
    an executor with it and one without would not share compiled code.
    """
    environment.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
