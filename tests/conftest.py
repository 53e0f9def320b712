"""What all tests stand on."""

from __future__ import annotations

import signal

# In the background of a script interrupts are ignored, and every process that a test starts would inherit that: Ctrl-C couldn't be tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
