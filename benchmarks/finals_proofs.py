"""Proofs as files: one made of each example, judged again by another process, and once more after a line of the kernel was changed.

A proof is written of what is better. So that there is something for every example, its original is made slower here: the edit that is
proven is the way back to the example as it is.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from finals_context import Context, text_of
from gpus import Ended, FailedError, Lane, ended
from targets import label

VERIFY_S, CHECK_S = 60.0, 60.0  # as long as none was seen

#: What the examples have, and what makes them slower: a result that is zeroed first, or blocks that are too small.
SLOWED = {
    "batched_matmul": ("c = torch.empty(", "c = torch.zeros("),
    "column_sum": ("BLOCK_M, BLOCK_N = 32, 64", "BLOCK_M, BLOCK_N = 4, 64"),
    "cross_entropy": ("min(4096, ", "min(256, "),
    "flash_attention": ("BLOCK_M = 64", "BLOCK_M = 16"),
    "fused_softmax": ("y = torch.empty_like(", "y = torch.zeros_like("),
    "gather": ("out = torch.empty(", "out = torch.zeros("),
    "layer_norm": ("y = torch.empty_like(", "y = torch.zeros_like("),
    "layer_norm_bwd_dx_kernel": ("dx = torch.empty_like(", "dx = torch.zeros_like("),
    "layer_norm_bwd_dwdb_kernel": ("BLOCK_SIZE_N=128", "BLOCK_SIZE_N=256"),
    "matmul": ("BLOCK_SIZE_M = 64", "BLOCK_SIZE_M = 16"),
    "rms_norm": ("y = torch.empty_like(", "y = torch.zeros_like("),
    "rope": ("out = torch.empty_like(", "out = torch.zeros_like("),
    "row_quantize": ("q = torch.empty_like(", "q = torch.zeros_like("),
    "scan": ("y = torch.empty_like(", "y = torch.zeros_like("),
    "swiglu": ("out = torch.empty(", "out = torch.zeros("),
    "vector_add": ("BLOCK_SIZE=1024", "BLOCK_SIZE=16"),
}


def run(context: Context, targets: Sequence[Path]) -> int:
    """Exits with 1 when a proof wasn't made, wasn't confirmed, or was confirmed with a changed kernel."""
    done = {r["key"] for r in context.ledger.of("proof")}

    def work(target: Path, lane: Lane) -> Iterator[str]:
        context.need(context.ledger.longest("proof", "seconds", VERIFY_S + CHECK_S))
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = Proving(context, target, lane, Path(folder)).run()
        record = context.ledger.add("proof", label(target), seconds=time.monotonic() - start, **found)
        yield line(record)

    left = context.each([t for t in targets if label(t) not in done], work)
    records = context.ledger.of("proof")
    print("\n".join(summary(records)))
    if left:
        print(f"{left} examples are left for the next call.")
    return 0 if records and all(good(r) for r in records) and not context.ledger.failed("proof") else 1


class Proving:
    """One example in a folder of its own: as it is, and beside it the slower original."""

    def __init__(self, context: Context, target: Path, lane: Lane, folder: Path) -> None:
        self.context, self.lane, self.folder = context, lane, folder
        self.name, self.text = text_of(target)
        self.kernel = str(target).partition("::")[2]
        self.slow = slowed(label(target), self.text)
        self.work = folder / "work"

    def run(self) -> dict[str, Any]:
        """What verify and both checks said, and what they took.

        Raises:
            FailedError: verify could say nothing.
        """
        self.work.mkdir()
        file, before, proof = self.work / self.name, self.folder / self.name, self.folder / "proof.json"
        file.write_text(self.text, encoding="utf-8")
        before.write_text(self.slow, encoding="utf-8")
        about = f"{self.name}::{self.kernel}" if self.kernel else self.name
        extra = ["--gpu", self.context.options.gpu] if self.context.options.gpu else []
        asked = ["verify", about, "--against", str(before), "--entry", self.context.options.entry, "--proof", str(proof), *extra]
        verified, verify_s = self._say(asked)
        if verified.code:
            raise FailedError(last(verified, "reason"))
        found: dict[str, Any] = {"verify": last(verified, "reason"), "verify_s": verify_s, "proof": proof.exists()}
        if not proof.exists():
            return found
        check = ["check", str(proof), "--seconds", str(self.context.options.check_seconds)]
        checked, check_s = self._say(check)
        found |= {"check": checked.code, "check_said": last(checked, "message"), "check_s": check_s}
        if checked.code:
            found["pairs"] = json.loads(proof.read_text(encoding="utf-8"))["pairs"]
        file.write_text(changed(self.text, self.kernel), encoding="utf-8")
        refused, _ = self._say(check)
        return found | {"changed": refused.code, "changed_said": last(refused, "message")}

    def _say(self, words: Sequence[str]) -> tuple[Ended, float]:
        """A command of KernelBand's in a process of its own.

        Raises:
            FailedError: it took too long.
        """
        command = [sys.executable, "-m", "kernelband", *words, "--json", "--db", str(self.folder / f"{words[0]}.db")]
        for name in ("python", "worker"):
            if getattr(self.context.options, name):
                command += [f"--{name}", getattr(self.context.options, name)]
        start = time.monotonic()
        done = ended(command, self.context.limit, self.context.environment(self.lane), str(self.work))
        return done, time.monotonic() - start


def slowed(name: str, text: str) -> str:
    """The example, slower.

    Raises:
        ValueError: nobody has said how, or it no longer has what was to be replaced.
    """
    if name not in SLOWED:
        raise ValueError(f"nothing says how {name} is made slower: add it to SLOWED in finals_proofs.py.")
    old, new = SLOWED[name]
    if text.count(old) != 1:
        raise ValueError(f"{old!r} is there {text.count(old)} times, not once: change SLOWED in finals_proofs.py.")
    return text.replace(old, new)


def changed(text: str, kernel: str) -> str:
    """With one line of the kernel changed, the one that asks for the program's number. It still computes the same."""
    at = text.index(f"def {kernel}") if kernel else 0
    return text[:at] + re.sub(r"tl\.program_id\(", "0 + tl.program_id(", text[at:], count=1)


def last(done: Ended, name: str) -> str:
    """What the newest event says that says such a thing; what went wrong, where none does."""
    said = ""
    for text in done.out.splitlines():
        try:
            event = json.loads(text)
        except ValueError:
            continue
        said = event.get(name) or said
    return said or done.last


def good(record: Mapping[str, Any]) -> bool:
    return record["proof"] and record["check"] == 0 and record["changed"] == 10


def line(record: Mapping[str, Any]) -> str:
    if not record["proof"]:
        return f"{record['key']}: NO PROOF after {record['verify_s']:.0f} s: {record['verify']}"
    word = {0: "confirmed", 10: "NOT CONFIRMED", 11: "NOT COMPARED"}.get(record["check"], f"ended with code {record['check']}")
    then = "not confirmed" if record["changed"] == 10 else "CONFIRMED" if record["changed"] == 0 else f"code {record['changed']}"
    return (
        f"{record['key']}: {record['verify']} ({record['verify_s']:.0f} s); {word} in {record['check_s']:.0f} s: {record['check_said']} "
        f"With one changed line {then}: {record['changed_said']}"
    )


def summary(records: Sequence[Mapping[str, Any]]) -> list[str]:
    made = [r for r in records if r["proof"]]
    out = [
        f"{len(made)} proofs of {len(records)} examples; {sum(r['check'] == 0 for r in made)} confirmed by another process, "
        f"{sum(r['changed'] == 10 for r in made)} not confirmed with one changed line of the kernel."
    ]
    if made:
        out.append(f"A check took {max(r['check_s'] for r in made):.0f} s at most.")
    return out
