"""What a model is told: the strategy's card, facts, the functions' text, what was tried. Nothing else leaves this machine.

File names are sent without their folders; of the files only the functions that may be rewritten and their import lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernelband.propose._base import Story
from kernelband.propose.model.client import Message
from kernelband.propose.model.functions import Unreadable, around, editables
from kernelband.source.model import Program
from kernelband.strategies import Card, Facts
from kernelband_worker.wire import Case, CompileFacts

MAX_TRIED = 12
MAX_CASES = 6
MAX_REASON = 600

RULES = """You make Triton GPU kernels faster. You get a kernel, the functions that launch it, and facts about it on one device. You answer
with variants that compute the same results.

Rules, checked by a program before anything of yours runs:
- Rewrite only the functions that are listed. Each keeps its name and decorators; a host function keeps its parameters and still
  launches the kernel; a kernel may change its parameters if the launch changes with it.
- No imports, no classes, no new module-level names. No files, printing, threads, streams, eval, getattr, names with double underscores,
  inline assembly, or torch computations in place of the kernel.
- No state outlives a call: nothing is kept in attributes, defaults, or tensors and dictionaries of the file. Pointer parameters of a kernel
  keep their names and roles: what was only loaded isn't stored to. Scratch memory comes from torch.zeros, not torch.empty.
- The same results for all sizes and strides that the original takes, within rounding: no assumption about the data. Compare sizes with <=
  or %, never == with a number (`n <= 1024`, `n % 16 == 0`; not `n == 4096`). Masks stay unless you prove that they are needless.
- Numerics: summation order may change. Lower precision (tf32, narrower accumulators) {lower}.
- Write as an expert would: short, plain names, a comment only where the reason isn't obvious."""

FORM = """Answer with up to {limit} variants, the most promising first, in exactly this form, and nothing else:

## Variant: one sentence that says what changes
Why: one sentence that names the fact which makes it worth trying

```python NAME
the whole new text of function NAME, decorators included
```

Give a block for each function that changes, and only for those; NAME as listed."""


def conversation(program: Program, card: Card, facts: Facts, story: Story, limit: int) -> list[Message]:
    """The first question about an arm."""
    lower = "is allowed: then add a line `Numerics: lowers_precision`" if "lowers_precision" in facts.allowed else "is not allowed"
    parts = [
        f"# Strategy: {card.name}\n{card.what} {card.when} {card.why}\nIt aims at the use of {_RESOURCE[card.target]}.",
        f"# Device and versions\n{_device(facts)}",
        f"# Calls\n{_cases(facts.cases)}",
        f"# Compiled\n{_compiled(facts.compiled)}",
        f"# Functions\n{functions(program)}",
    ]
    if story.lineage:
        parts.append("# Edits that led here\n" + "\n".join(f"- {x}" for x in story.lineage))
    if story.tried:
        parts.append("# Tried from here: don't repeat it\n" + "\n".join(_tried(story)))
    parts.append(FORM.format(limit=limit))
    return [{"role": "system", "content": RULES.format(lower=lower)}, {"role": "user", "content": "\n\n".join(parts)}]


def repair(problems: Iterable[str]) -> Message:
    """The one further turn: the exact errors."""
    said = "\n".join(f"- {without_folders(p)}" for p in problems)
    return {
        "role": "user",
        "content": f"This can't be used:\n{said}\n\nFix it, or drop it for something that works, and answer again in the same form.",
    }


_FOLDERS = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:\"'<>]+[/\\])+")


def without_folders(text: str) -> str:
    """Absolute paths as names of files: where someone keeps their files is nobody's business."""
    return _FOLDERS.sub("", text)


def functions(program: Program) -> str:
    """The text of every function that may be rewritten, with the imports of its file."""
    out: list[str] = []
    every = editables(program)
    for path in dict.fromkeys(e.place.path for e in every):
        text = program.texts[path]
        try:
            imports = "\n".join(around(text).lines)
        except Unreadable:
            imports = ""
        if imports:
            out.append(f"Imports of the file (they stay as they are):\n```python\n{imports}\n```")
        for e in (x for x in every if x.place.path == path):
            kind = "kernel" if e.device else "host function"
            out.append(f"`{e.label}` ({kind}):\n```python {e.label}\n{text[e.span.start : e.span.end].rstrip()}\n```")
    return "\n\n".join(out)


_RESOURCE = {"sm": "the multiprocessors", "dram": "memory bandwidth", "l2": "the L2 cache"}


def _device(facts: Facts) -> str:
    device = facts.device
    return f"{device.name}, {device.target['backend']} {device.target['arch']}; Triton {facts.triton[0]}.{facts.triton[1]}"


def _cases(cases: Sequence[Case]) -> str:
    shown = [c for c in cases if c["role"] == "time"] or list(cases)
    lines: list[str] = []
    for case in shown[:MAX_CASES]:
        took = f", {case['device_us']:.1f} µs on the device" if case["device_us"] is not None else ""
        lines.append(f"- {case['function']['qualname']}({case['arguments']}){took}; moves {case['compulsory_bytes']} bytes at least")
        lines += [
            f"  grid {x['grid']}, {x['num_warps']} warps, {x['num_stages']} stages, constants {x['constants']}"
            for x in case["launches"][:2]
        ]
    return "\n".join(lines) or "- none recorded"


def _compiled(compiled: Sequence[CompileFacts]) -> str:
    lines: list[str] = []
    for facts in compiled[:MAX_CASES]:
        spills = (facts["spill_store_bytes"] or 0) + (facts["spill_load_bytes"] or 0)
        lines.append(
            f"- {facts['kernel']['qualname']}: {facts['registers']} registers a thread, {spills} bytes spilled, "
            f"{facts['shared_bytes']} bytes of shared memory, {facts['num_warps']} warps, {facts['num_stages']} stages, "
            f"tensor cores: {facts['tensor_core'] or 'not used'}"
        )
        lines += [f"  {w['code']} in line {w['line']}: {without_folders(w['message'])}" for w in facts["warnings"][:4]]
    return "\n".join(dict.fromkeys(lines)) or "- nothing known"


def _tried(story: Story) -> list[str]:
    return [
        f"- {t.what}: {t.outcome.replace('_', ' ')}{f' ({without_folders(t.reason)[:MAX_REASON]})' if t.failed and t.reason else ''}"
        for t in story.tried[-MAX_TRIED:]
    ]
