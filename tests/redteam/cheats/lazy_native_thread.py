"""Starts the launch from a thread of the interpreter's own (``_thread``), which ``threading`` doesn't count.

Source: own idea: against counting ``threading.enumerate``.
"""

BASE = "scale"
FAMILY = "async"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("integrity", "device_activity", "check"), "finalist": ("integrity", "device_activity", "check")}
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import _thread\nimport time\n\nimport torch\n"),
    (
        "    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)\n",
        """\
    def work():
        time.sleep(0.002)
        scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)

    _thread.start_new_thread(work, ())
""",
    ),
]
