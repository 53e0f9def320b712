"""Lowers the priority of the other processes of its parent: one of them runs the original.

Source: own idea: an original in a process of its own can be reached by process ids.
"""

BASE = "scale"
FAMILY = "process"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("integrity", "slower"), "finalist": ("integrity", "slower")}
NEEDS_GPU = False
EDITS = [
    (
        "def scale(x, factor):\n",
        """\
def _slow_down_neighbours():
    import os
    import pathlib

    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            number, parent = int(status.parent.name), int(status.read_text().rpartition(")")[2].split()[1])
            name = (status.parent / "cmdline").read_bytes()
            if parent == os.getppid() and number != os.getpid() and b"kernelband" in name:
                os.setpriority(os.PRIO_PROCESS, number, 19)
        except (OSError, ValueError):
            continue


_slow_down_neighbours()


def scale(x, factor):
""",
    ),
]
