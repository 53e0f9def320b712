"""The author without a model: the moves of a strategy, as they are, of the kernel and of others that its calls launch."""

from __future__ import annotations

from collections.abc import Set

from kernelband.propose._base import Draft
from kernelband.propose.boundary import unseen_host
from kernelband.propose.others import in_turns
from kernelband.propose.untaken import is_inside, untaken
from kernelband.source.model import Program, text_hash
from kernelband.strategies import Facts, Proposal


class Rewriter:
    """Proposes each (move, parameters) of a parent once, and each text once. Same arguments, same draft."""

    name = "rewriter"
    free = True

    def write(self, program: Program, strategy: str, facts: Facts, already: Set[str], limit: int) -> Draft:
        """Up to ``limit`` proposals that are new and change what the cases run (a move sees to it that its edit parses)."""
        keys: set[str] = set(already)
        texts: set[str] = {_identity(program.texts)}
        proposals: list[Proposal] = []
        refused: list[str] = []
        exhausted = True
        dropped = {p.kernel.place: untaken(p, f.constants) for p, f in ((program, facts), *((o.program, o.facts) for o in facts.others))}
        for of, known, proposal in in_turns(program, strategy, facts):
            if proposal.key in keys or unseen_host(of, proposal.patch, known.cases):
                continue
            if is_inside(proposal.patch, of.kernel.place.path, dropped[of.kernel.place]):
                continue
            if len(proposals) >= limit:
                exhausted = False
                break
            keys.add(proposal.key)
            after = proposal.patch.apply(program.texts)
            if _identity(after) in texts:
                refused.append(f"{proposal.key}: it writes the same text as an earlier proposal.")
                continue
            texts.add(_identity(after))
            proposals.append(proposal)
        return Draft(tuple(proposals), exhausted, tuple(refused))


def _identity(texts: dict[str, str]) -> str:
    """One hash over the program's files."""
    return text_hash("\0".join(f"{path}\0{texts[path]}" for path in sorted(texts)))
