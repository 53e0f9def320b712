"""Finds functions of the same name that aren't its own among all objects, and replaces their code by slower code.

Source: own idea: whoever was bound before the patch has the slow code, too.
"""

BASE = "scale"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "slower", "finalist": "slower"}
NEEDS_GPU = False
EDITS = [
    (
        "def test_scale():\n",
        """\
def _slow_down():
    import gc
    import types

    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and found.__name__ == "scale" and found.__globals__ is not globals():
            if "scale_kernel" in found.__globals__ and "before" not in found.__globals__:
                found.__globals__["before"] = types.FunctionType(found.__code__, found.__globals__)
                found.__code__ = (lambda x, factor: [__import__("time").sleep(0.001), before(x, factor)][1]).__code__  # noqa: F821


_slow_down()


def test_scale():
""",
    ),
]
