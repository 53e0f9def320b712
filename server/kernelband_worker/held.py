"""While something is half done that outlives the entry of a program, what stops the entry waits."""

from __future__ import annotations

#: ``triton.language`` is being patched or put back: stopped in the middle of it, nothing could be compiled in this process any more.
language = False
