"""The file of a proof: how it is written, and what is refused when it is read.

Anybody may have made or edited the file at hand, so nothing of it is used before its seal, its shape and its sense were looked at and its
figures were seen to follow from its pairs. The seal shows damage and edits; it is no signature.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, cast

import attrs
from cattrs import Converter, transform_error

from kernelband.errors import NotComparable, SourceError
from kernelband.explain.proofshape import Pair, Proof, ProofFigures, ProofFile
from kernelband.judge.protocol import PROTOCOL

MAX_BYTES = 16_000_000
LARGEST = 1e15  # no count and no time is above
MOST_FINALISTS = 100
SAME = 1e-6  # by so much a figure may differ from what its pairs give

SEAL = "seal"
_HASH = re.compile(r"[0-9a-f]{64}")
_KERNEL = re.compile(r"[^\W\d]\w*(?:\.(?:<locals>|[^\W\d]\w*))*")


# ---------------------------------------------------------------- write


def to_text(proof: Proof) -> str:
    """The file: a line for each field, for each item of a list, and the seal at the end."""
    body = cast("dict[str, Any]", _converter().unstructure(proof))
    lines = [f"{_plain(key)}: {_lines(value)}" for key, value in (body | {SEAL: _seal(body)}).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n " + ",\n ".join(_plain(x) for x in cast("list[Any]", value)) + "\n]"
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _seal(body: Mapping[str, Any]) -> str:
    """SHA-256 of everything else, as JSON with sorted keys and without blanks."""
    return sha256(json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")).hexdigest()


# ---------------------------------------------------------------- read


def read_proof(path: str) -> Proof:
    """The proof in that file.

    Raises:
        SourceError: there is none, it isn't whole, it was edited, or it makes no sense.
        NotComparable: another protocol wrote it.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise SourceError(f"There is no proof {path}: check the name and the folder that you are in.") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"The proof {path} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    return proof_of(data, path)


def proof_of(data: bytes, name: str) -> Proof:
    """The proof in these bytes; ``name`` is what sentences call it.

    Raises:
        SourceError, NotComparable: as ``read_proof``.
    """
    body = _body(data, name)
    protocol, seal = body.get("protocol"), body.pop(SEAL, None)
    if not isinstance(protocol, int) or isinstance(protocol, bool) or seal is None:
        raise SourceError(f"{name} isn't a proof: it has no protocol number, or no seal.")
    if protocol != PROTOCOL:
        newer = (
            "a newer KernelBand, so this one can't judge by it: update" if protocol > PROTOCOL else "an older KernelBand: make a new one"
        )
        raise NotComparable(f"{name} is a proof by the protocol of {newer}.")
    try:
        right = seal == _seal(body)
    except (ValueError, RecursionError):  # infinite, or nested without end
        right = False
    if not right:
        raise SourceError(f"{name} isn't as it was written: it was edited or damaged, so it proves nothing. Make a new one.")
    try:
        proof = _converter().structure(body, Proof)
    except Exception as error:  # cattrs' of any kind
        raise SourceError(f"{name} isn't a proof: {_why(error)}.") from error
    wrong = _nonsense(proof)
    if wrong:
        raise SourceError(f"{name} isn't a proof: {wrong}.")
    return proof


def _body(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise SourceError(f"{name} isn't a proof: it has more than {MAX_BYTES:,} bytes.")
    try:
        body = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name} isn't a whole proof: it is cut off, or isn't JSON.") from error
    if not isinstance(body, dict):
        raise SourceError(f"{name} isn't a proof: it is JSON, but no object.")
    return cast("dict[str, Any]", body)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers of JSON differ in which of two fields of one name they see."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name occurs twice")
    return out


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


@cache
def _converter() -> Converter:
    """Strict where cattrs is kind: it would make a string of anything, and a tuple of a string."""
    made = Converter(forbid_extra_keys=True)
    for kind in (str, int, float, bool):
        made.register_structure_hook(kind, _exactly)

    def is_tuple(kind: Any) -> bool:
        return getattr(kind, "__origin__", None) is tuple

    def items(value: Any, kind: Any) -> tuple[Any, ...]:
        return tuple(made.structure(x, kind.__args__[0]) for x in _list(value))

    def pair(value: Any, _: Any) -> Pair:
        found = _list(value)
        if len(found) != len(kinds):
            raise ValueError(f"a pair has {len(kinds)} values")
        return Pair(*(made.structure(x, kind) for x, kind in zip(found, kinds, strict=True)))

    attrs.resolve_types(Pair)
    kinds = [a.type for a in attrs.fields(Pair)]
    made.register_structure_hook_func(is_tuple, items)
    made.register_unstructure_hook(Pair, lambda p: list(attrs.astuple(p)))
    made.register_structure_hook(Pair, pair)
    return made


def _exactly(value: Any, kind: type[Any]) -> Any:
    kinds: tuple[type, ...] = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{kind.__name__} is expected")
    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise ValueError(f"no number is above {LARGEST:g}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a list is expected")
    return cast("list[Any]", value)


def _why(error: Exception) -> str:
    """The first of cattrs' reasons, without what somebody wrote into the file."""
    first = next(iter(transform_error(error, path="proof")), "")
    printable = "".join(c if c.isprintable() else "?" for c in first)
    return printable[:200] or "its structure is a different one"


# ---------------------------------------------------------------- sense


def _nonsense(proof: Proof) -> str:
    """Why it can't be what a run wrote; "" where it can."""
    if not all(text.isprintable() for text in _shown(proof)):
        return "there are control characters in what is shown of it"
    paths, cases = [f.path for f in proof.files], [c.hash for c in proof.cases]
    if not all(map(_is_below, paths)) or proof.path not in paths or max(Counter(paths).values()) > 1:
        return "its files aren't files of one project"
    if not _KERNEL.fullmatch(proof.kernel):
        return "it names no kernel"
    if not all(map(_is_edited_right, proof.files)) or not any(f.edits for f in proof.files):
        return "its edits aren't edits of its files"
    if max(Counter(cases).values(), default=0) != 1 or not all(p.case in cases for p in proof.pairs):
        return "its cases aren't cases of one run"
    if not proof.good:
        return "it is of nothing that was verified, or is likely faster"
    if not proof.measured:
        return "" if proof.figures is None and not proof.pairs else "a prediction has no figures"
    return "" if _follows(proof) else "its figures don't follow from its pairs"


def _shown(proof: Proof) -> Iterator[str]:
    """Every text but that of its edits."""
    queue: list[Any] = [attrs.asdict(proof, filter=lambda a, _: a.name not in ("old", "new"))]
    while queue:
        value = queue.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            queue += [x for both in cast("dict[Any, Any]", value).items() for x in both]
        elif isinstance(value, list | tuple):
            queue += cast("list[Any]", value)


def _is_below(path: str) -> bool:
    """Whether it names a file below a folder, on any system."""
    parts = PurePosixPath(path).parts
    plain = bool(parts) and "/".join(parts) == path and not path.startswith("/") and ".." not in parts
    return plain and "\\" not in path and ":" not in path


def _is_edited_right(file: ProofFile) -> bool:
    if not (_HASH.fullmatch(file.before) and _HASH.fullmatch(file.after)) or (file.before == file.after) == bool(file.edits):
        return False
    at = 0
    for edit in file.edits:
        if not at <= edit.start <= edit.end or len(edit.old) != edit.end - edit.start:
            return False
        at = edit.end
    return True


def _follows(proof: Proof) -> bool:
    """Whether the judge makes of the pairs what the figures say."""
    said = proof.figures
    assert said is not None
    least = min((min(p.original_us, p.variant_us) for p in proof.pairs), default=0.0)
    if least <= 0 or not 1 <= said.finalists <= MOST_FINALISTS or not any(p.stage == "baseline" for p in proof.pairs):
        return False
    try:
        made = proof.compared()
    except (ValueError, OverflowError, ZeroDivisionError):
        return False
    ours = ProofFigures(made.score, made.weighted, made.worst, said.finalists, made.cases)
    return made.performance == "faster" and _alike(attrs.astuple(said), attrs.astuple(ours))


def _alike(one: Any, other: Any) -> bool:
    """The same but for the last places of numbers."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        ones, others = cast("tuple[Any, ...]", one), cast("tuple[Any, ...]", other)
        return len(ones) == len(others) and all(map(_alike, ones, others))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=SAME)
    return one == other
