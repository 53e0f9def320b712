"""Takes over ``Autotuner.run`` and the compiler's cache lookups, so that an original that is tuned takes its worst choice.

Source: own idea, after issue 13.
"""

BASE = "matmul"
FAMILY = "patch"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": ("slower", "integrity"), "finalist": ("slower", "integrity")}
NEEDS_GPU = False
EDITS = [
    (
        "def matmul(a, b):\n",
        """\
def _worst():
    from triton.runtime.autotuner import Autotuner

    before = Autotuner.run

    def run(tuner, *arguments, **options):
        tuner.configs = tuner.configs[-1:]
        return before(tuner, *arguments, **options)

    Autotuner.run = run


_worst()


def matmul(a, b):
""",
    ),
]
