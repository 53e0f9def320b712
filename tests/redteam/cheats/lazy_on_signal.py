"""Computes in the handler of a timer's signal, two milliseconds after the call.

Source: own idea (issue 13: catching signals).
"""

BASE = "scale"
FAMILY = "process"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("check", "integrity", "device_activity"), "finalist": ("check", "integrity", "device_activity")}
NEEDS_GPU = True
EDITS = [
    ("import torch\n", "import signal\n\nimport torch\n"),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    def work(number, frame):
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)

    signal.signal(signal.SIGVTALRM, work)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.002)
""",
    ),
]
