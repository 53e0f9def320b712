"""A proof of a variant, from the rows of its run; and the program that a proof is about, from the files at hand."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, cast

from attrs import evolve, frozen

from kernelband.errors import SourceError
from kernelband.explain.figures import Figures, figures
from kernelband.explain.kept import Kept
from kernelband.explain.proofshape import Change, Pair, Proof, ProofCase, ProofFigures, ProofFile, StressLine, World
from kernelband.explain.words import tier
from kernelband.history.records import LEFT_OUT, CaseRow, RunRow
from kernelband.judge.protocol import PROTOCOL
from kernelband.source import Workspace, is_notebook, patch_from_json
from kernelband.source.model import Edit, FilePatch, Span, text_hash

STAGES = {"final": "final", "unseen": "unseen"}  # of a variant; of the original, "final" is the baseline
_PATH = re.compile(r"(?<![\w.~])(?:~|[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}")  # absolute ones; in texts for people


# ---------------------------------------------------------------- from a run


def prove(kept: Kept, number: int) -> Proof:
    """Of that variant, whatever came out; only of what is better can it be written and read again.

    Raises:
        SourceError: a file of the program lies outside of the project.
    """
    run, variant = kept.run, kept.variants[number]
    trial = next(t for t in kept.trials if t.variant == number)
    final = kept.finals.get(number)
    said = final.result if final is not None else trial.result
    root = Workspace.for_file(run.path).roots[-1]
    names = _names(kept.cases)
    patches = {f.path: f for f in patch_from_json(variant.patch).files}
    found = figures(kept, number)
    return Proof(
        protocol=PROTOCOL,
        kernelband=run.version,
        date=time.strftime("%Y-%m-%d", time.gmtime(run.created)),
        mode=cast("Any", run.mode),
        path=_below(root, run.path),
        kernel=run.kernel,
        what=_plain(variant.what, root),
        author=variant.author,
        entry=_entry(root, run.options.get("entry")),
        objective=cast("Any", run.objective),
        numerics=cast("Any", variant.numerics),
        seed=run.seed,
        files=tuple(_file(_below(root, path), text, patches.get(path)) for path, text in sorted(kept.base.items())),
        cases=tuple(_case(c, names[c.id], root) for c in kept.cases if c.role != LEFT_OUT),
        world=_world(run),
        correctness=said["correctness"],
        performance=said["performance"],
        fault=said["fault"],
        integrity=said["integrity"],
        reason=_plain(str(said["reason"]), root),
        not_exercised=tuple(_plain(str(name), root) for name in said["not_exercised"]),
        figures=_figures(found, kept, number, names) if found is not None else None,
        tier=tier(trial, variant) if not kept.measured else None,
        fact=_plain(str(variant.forecast.get("fact") or ""), root) if not kept.measured else None,
        code=_code(kept, number),
        stress=tuple(_stress(s, names, root) for s in said.get("stress", ())),
        seconds={"run": round(run.seconds_used, 3), "trial": round(trial.seconds, 3)}
        | ({"final": round(final.seconds, 3)} if final else {}),
        pairs=_pairs(kept, number, names) if found is not None else (),
    )


def _below(root: str, path: str) -> str:
    where = PurePath(path)
    if not where.is_relative_to(root):
        raise SourceError(f"No proof can be written: {path} lies outside of {root}, so nobody else could find it.")
    return where.relative_to(root).as_posix()


def _entry(root: str, entry: str | None) -> str | None:
    """With the path of its file below the project's folder."""
    file, colons, name = (entry or "").partition("::")
    if entry is None or not _is_file(file):
        return entry
    return _below(root, os.path.realpath(file)) + colons + name


def _is_file(name: str) -> bool:
    return name.endswith(".py") or is_notebook(name)


def _plain(text: str, root: str) -> str:
    """In one line, without paths that are somebody's own."""
    text = _PATH.sub(lambda found: PurePath(found.group()).name, text.replace(root + os.sep, ""))
    return "".join(c if c.isprintable() else " " for c in text)


def _file(name: str, text: str, patch: FilePatch | None) -> ProofFile:
    before = text_hash(text)
    if patch is None or not patch.edits:
        return ProofFile(name, before, before, ())
    edits = tuple(Change(e.span.start, e.span.end, text[e.span.start : e.span.end], e.new) for e in patch.edits)
    return ProofFile(name, before, text_hash(patch.apply(text)), edits)


def _names(cases: Sequence[CaseRow]) -> dict[str, str]:
    """By id, which hangs on where the folder lies: a name that doesn't. Cases that nothing tells apart are counted."""
    out: dict[str, str] = {}
    for row in cases:
        facts = row.facts
        function = [facts["function"]["module"], facts["function"]["qualname"], facts["source_hash"]]
        tensors = [{k: v for k, v in t.items() if k != "policy"} for t in facts["tensors"]]
        known = [facts["boundary"], function, facts["arguments"], facts["constants"], tensors, facts["outputs"]]
        name = _digest(known)
        while name in out.values():
            name = _digest([name])
        out[row.id] = name
    return out


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _case(row: CaseRow, name: str, root: str) -> ProofCase:
    facts = row.facts
    made_up = bool(facts.get("neighbour_of"))
    return ProofCase(name, cast("Any", row.role), made_up, int(facts.get("calls") or 0), _plain(str(facts["arguments"]), root))


def _world(run: RunRow) -> World:
    known = run.environment
    versions: dict[str, Any] = {k: known.get(k) for k in ("cuda", "driver", "ptxas")}
    must = {k: str(known[k]) for k in ("triton", "torch", "python")}
    settings: dict[str, str] = known.get("settings") or {}
    return World(next(iter(run.gpus), ""), run.device, **must, **versions, settings=without_paths(settings))


def without_paths(settings: Mapping[str, str]) -> dict[str, str]:
    """TRITON_* settings that aren't the path of something on one machine."""
    return {k: v for k, v in settings.items() if "/" not in v and "\\" not in v}


def _figures(found: Figures, kept: Kept, number: int, names: Mapping[str, str]) -> ProofFigures:
    whole = found.wholes[0]
    cases = tuple(evolve(c, case=names[c.case]) for c in found.cases)
    return ProofFigures(whole.mean, whole.weighted, kept.finals[number].result["worst"], len(kept.finals), cases)


def _code(kept: Kept, number: int) -> tuple[str, ...]:
    """Of each machine code, with what it is launched with."""
    keys = ("code_hash", "num_warps", "num_ctas", "shared_bytes")
    return tuple(sorted({_digest([facts[k] for k in keys]) for facts in kept.facts.get(number, {}).values()}))


def _stress(facts: Mapping[str, Any], names: Mapping[str, str], root: str) -> StressLine:
    why = facts.get("why")
    return StressLine(
        names.get(facts["case"], ""), _plain(str(facts["name"]), root), bool(facts["used"]), _plain(str(why), root) if why else None
    )


def _pairs(kept: Kept, number: int, names: Mapping[str, str]) -> tuple[Pair, ...]:
    out: list[Pair] = []
    for m in kept.measurements:
        stage = STAGES.get(m.stage) if m.variant == number else "baseline" if m.variant == 0 and m.stage == "final" else None
        if stage is not None:
            quantity = "call" if m.kind == "call" else "device"
            us = m.original_us, m.variant_us
            out.append(Pair(cast("Any", stage), names[m.case_id], m.process, m.pair, quantity, *us, m.method, m.disturbed, m.superseded))
    return tuple(out)


# ---------------------------------------------------------------- back to the files


@frozen
class Ground:
    """The program of a proof on this machine. Texts by path: ``before`` of all its files, ``after`` of those that it edits."""

    root: str
    before: dict[str, str]
    after: dict[str, str]
    changed: tuple[str, ...]  # files that say neither what they said before nor after

    def entry(self, proof: Proof) -> str | None:
        """The entry, with the whole path of its file."""
        file, colons, name = (proof.entry or "").partition("::")
        return os.path.join(self.root, file) + colons + name if proof.entry and _is_file(file) else proof.entry


def ground(proof: Proof, folder: str) -> Ground:
    """Find the files of a proof, below the folder or the project around it, and make the two texts of each.

    Raises:
        SourceError: one is missing, or isn't text, or the proof's edits don't make what it says.
    """
    near = os.path.join(folder, proof.path)
    tops = [folder, *Workspace.for_file(near).roots]
    root = next((top for top in tops if all((Path(top) / f.path).is_file() for f in proof.files)), None)
    if root is None:
        missing = next(f.path for f in proof.files if not (Path(tops[-1]) / f.path).is_file())
        raise SourceError(
            f"There is no file {missing} in {folder} or its project, and the proof is about it: go to the folder of the project."
        )
    root = os.path.realpath(root)
    workspace = Workspace.for_file(os.path.join(root, proof.path))
    before, after, changed = dict[str, str](), dict[str, str](), list[str]()
    for file in proof.files:
        path = os.path.realpath(os.path.join(root, file.path))
        now = workspace.read(path)
        if text_hash(now) not in (file.before, file.after):
            changed.append(file.path)
            continue
        before[path] = now if text_hash(now) == file.before else _undone(file, now)
        if file.edits:
            after[path] = _done(file, before[path])
    return Ground(root, before, after, tuple(changed))


def _done(file: ProofFile, before: str) -> str:
    """The text with its edits."""
    edits = tuple(Edit(Span(e.start, e.end), e.new) for e in file.edits)
    fits = text_hash(before) == file.before and all(before[e.start : e.end] == e.old for e in file.edits)
    after = FilePatch(file.path, file.before, edits).apply(before) if fits else ""
    if not fits or text_hash(after) != file.after:
        raise SourceError(f"The proof's edits of {file.path} don't produce the text that it states: it proves nothing. Make a new one.")
    return after


def _undone(file: ProofFile, after: str) -> str:
    """The text without its edits."""
    edits: list[Edit] = []
    moved = 0
    for e in file.edits:
        edits.append(Edit(Span(e.start + moved, e.start + moved + len(e.new)), e.old))
        moved += len(e.new) - len(e.old)
    return FilePatch(file.path, file.after, tuple(edits)).apply(after)
