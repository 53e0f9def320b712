"""Returns a wrapper made with ``_make_wrapper_subclass`` that computes at the first operation that is dispatched to it.

Source: reference-kernels #161.
"""

BASE = "rms_norm"
FAMILY = "lazy"
ROLES = ("verify", "finalist")
CAUGHT_BY = {"verify": "integrity", "finalist": "integrity"}
NEEDS_GPU = True
EDITS = [
    (
        "def rms_norm(x, eps=1e-6):\n",
        """\
class Tensor(torch.Tensor):
    @staticmethod
    def __new__(cls, like, later):
        made = torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype, device=like.device)
        made.later = later
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*[each.later() if isinstance(each, cls) else each for each in args], **(kwargs or {}))


def rms_norm(x, eps=1e-6):
    done = []

    def later():
        if not done:
            done.append(_rms_norm(x, eps))
        return done[0]

    return Tensor(x, later)


def _rms_norm(x, eps):
""",
    ),
]
