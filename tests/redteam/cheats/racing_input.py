"""Doesn't let the side stream wait for the caller's: it may read an input that isn't there yet.

Source: own idea, after JUDGING section 3 (on a second stream).
"""

BASE = "halves"
FAMILY = "async"
ROLES = ("model", "verify", "finalist")
CAUGHT_BY = {
    "model": ("timed_result", "device_activity"),
    "verify": ("timed_result", "device_activity"),
    "finalist": ("timed_result", "device_activity"),
}
NEEDS_GPU = True
EDITS = [("    side.wait_stream(here)\n", "")]
