"""Puts a pause into the original, which it finds under its module's name.

Source: issue 13 (2.1x).
"""

BASE = "softmax"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "slower", "finalist": "slower"}
NEEDS_GPU = False
EDITS = [
    (
        "def softmax(x):\n",
        """\
def _slow_down():
    import sys
    import time

    original = sys.modules.get(__name__)
    before = getattr(original, "softmax", None)
    if before is not None and before.__globals__ is not globals():

        def softmax(x):
            time.sleep(0.001)
            return before(x)

        original.softmax = softmax


_slow_down()


def softmax(x):
""",
    ),
]
