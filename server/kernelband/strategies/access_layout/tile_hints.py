"""``tile_hints``: which operand of a product stays in L2. One is read again by the programs that follow, the other is not.

Loads in product loops go past L1 into shared memory (``cp.async``), but carry a policy for L2 all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.hints import HINTS
from kernelband.strategies.code import Access, At, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import BYTES, moving


class TileHints:
    """``eviction_policy="evict_last"`` on one operand's loads and ``"evict_first"`` on the others'."""

    name = "tile_hints"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    loads = [a for loop in view.kernel.loops() if loop.has_dot and loop.innermost for a in loop.accesses if not a.store]
    loads = [a for a in loads if len(a.blocks) == 2 and len(a.call.args) <= 3 and not any(k.arg in HINTS for k in a.call.keywords)]
    bases = list(dict.fromkeys(b for a in loads if (b := _tensor(view, a)) is not None))
    if len(bases) < 2 or any(_tensor(view, a) is None for a in loads):
        return
    largest = _bytes(view)
    for kept in bases:
        others = [b for b in bases if b != kept]
        if sum(largest.get(b, 0) for b in bases) <= view.facts.device.l2_bytes // 2:
            return  # all of it stays anyway
        edits: Edits = []
        for access in loads:
            policy = "evict_last" if _tensor(view, access) == kept else "evict_first"
            added = view.kernel.module.add_arguments(access.call, [f'eviction_policy="{policy}"'])
            if added is None:
                return
            edits += [(view.kernel.module.path, e) for e in added]
        total = sum(largest.get(b, 0) for b in bases) / 2**20
        yield at.proposal(
            {"kept": kept},
            edits,
            "exact",
            f"L2 keeps tiles of {kept} (evict_last) and lets go of {' and '.join(others)} (evict_first).",
            f"The operands take {total:.0f} MiB beside {view.facts.device.l2_bytes / 2**20:.0f} MiB of L2, shared by all programs.",
        )


def _tensor(view: View, access: Access) -> str | None:
    """The pointer argument that the load reads."""
    found = {t for t in access.depends if any(t in x["tensors"] for x in view.target_launches)}
    return found.pop() if len(found) == 1 else None


def _bytes(view: View) -> dict[str, int]:
    """Bytes of each tensor in the largest launch of the cases."""
    out: dict[str, int] = {}
    for launch in view.target_launches:
        for name, tensor in launch["tensors"].items():
            size = BYTES.get(tensor["dtype"], 4)
            for side in tensor["shape"]:
                size *= side
            out[name] = max(out.get(name, 0), size)
    return out
