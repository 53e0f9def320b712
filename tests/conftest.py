"""What all tests stand on."""

from __future__ import annotations

import contextlib
import signal

# In the background of a script interrupts are ignored, under nohup the end of the terminal, and every process that a test starts would
# inherit that: Ctrl-C couldn't be tested.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# How long an example takes says how busy the machine is. A worker's Python may lack hypothesis: then nothing that runs there needs it.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("kernelband", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("kernelband")
