"""A sentence of the command line as an editor says it: no option is named in it, and what helps is named for a button."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from kernelband.errors import HardwareError, KernelBandError, ModelError, WorkerError, WorkloadError

#: What a client of ours has a button for (docs/lsp.md).
REMEDIES = (
    "trust",
    "save",
    "entry",
    "python",
    "worker",
    "device",
    "budget",
    "db",
    "search",
    "model",
    "key",
    "resume",
    "optimize",
    "cancel",
    "log",
)

#: What the command line says, what an editor says instead, and the remedy, in this order. Whole phrases: a sentence may hold words of the
#: user's own program, which has options, too.
_PHRASES: tuple[tuple[str, str, str], ...] = (
    (r"`kernelband optimize --resume \w+` continues it", "it can be resumed", "resume"),
    (r"edit it, or name another original with --against\b", "edit it first", ""),
    (r"name another original with --against\b", "commit it first", ""),
    (r"give --against or --against-overlay\b", "name one of them", ""),
    (r"\bName (one that does|one|another entry) with --entry(?: FILE\.py::NAME)?", r"Choose \1", "entry"),
    (r"\bname (one that does|one|another entry) with --entry(?: FILE\.py::NAME)?", r"choose \1", "entry"),
    (r"\bcheck --entry .+\.$", "choose another one.", "entry"),
    (r"`--entry` takes that itself", "choose that itself", "entry"),
    (r"\bleave --out away\b", "draft it into that file", "entry"),
    (r"\b(?:give --db(?: PATH)?|name another with --db)\b", "name another file in the setting kernelband.db", "db"),
    (r"\b([Nn])ame another file with --db\b", r"\1ame another file in the setting kernelband.db", "db"),
    (r"\b([Cc])orrect --worker or --python\b", r"\1orrect the setting kernelband.worker or kernelband.python", "worker python"),
    (r"\b([Cc])orrect --python\b", r"\1orrect the setting kernelband.python", "python"),
    (r"\b([Cc])orrect --worker\b", r"\1orrect the setting kernelband.worker", "worker"),
    (r"\b([Nn])ame (another|the Python that has torch and Triton) with --python\b", r"\1ame \2 in the setting kernelband.python", "python"),
    (r"^--worker (?=.+ can't be split into words)", "The setting kernelband.worker, ", "worker"),
    (r"--worker 'ssh box' reaches\b", "the setting kernelband.worker, such as ssh box, reaches", "worker"),
    (r"\bgive one or more, as in --gpu h100,a100\b", "name one, such as h100, in the setting kernelband.gpu", "device"),
    (r"\bgive --trials 1 or more\b", "give 1 trial or more", "budget"),
    (r"\bgive --seconds more than 0\b", "give more than 0 seconds", "budget"),
    (r"\bgive --model NAME, or set KERNELBAND_MODEL\b", "name one in the setting kernelband.model.name", "model"),
    (r" \(--model-[a-z-]+\)", "", "model"),
    (r"^--model-(\w+)-(\w+) must", r"The model's \1 \2 must", "model"),
    (r"^--model-(\w+) (?=must|needs|\S+ is not READ,WRITTEN)", r"The model's \1 ", "model"),
    (r"\badd --model-price READ,WRITTEN\b", "say what it costs, READ,WRITTEN", "model"),
    (r"\bname another file with --model-log\b", "name another file for it", "model"),
    (r"\bis --base-url\b(?= \S+ right|[^?]* right)", "is the setting kernelband.model.baseUrl", "model"),
    (r"\bor --base-url(?= \S+ is wrong)", "or the setting kernelband.model.baseUrl", "model"),
    (r"\bcorrect --base-url\b", "correct the setting kernelband.model.baseUrl", "model"),
    (r"\bgive --base-url of a server without keys\b", "name a server without keys in the setting kernelband.model.baseUrl", "model"),
    (r"^--base-url\b(?= .*(?:is not an address|must hold no user))", "The setting kernelband.model.baseUrl", "model"),
)
_RULES = tuple((re.compile(pattern), words, tuple(remedy.split())) for pattern, words, remedy in _PHRASES)

#: What helps where a sentence names no option.
_ALSO: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"`kernelband trust\b"), "trust"),
    (re.compile(r"\bis no file\b.*\bsave it first\b"), "save"),
    (re.compile(r"kernelband\[search\]"), "search"),
    (re.compile(r"^There is no key for "), "key"),
    (re.compile(r"\boptimize it first\b"), "optimize"),
    (re.compile(r"\bwait for its end, or cancel it\b"), "cancel"),
    (re.compile(r"\bwrite one that calls it\b"), "entry"),
    (re.compile(r"`kernelband (?:optimize|inspect|doctor)` (?:in a terminal )?(?:may show|didn't|ended)"), "log"),
)
#: By the kind of the error, where the sentence itself says nothing.
_BY_CODE = {
    WorkloadError.exit_code: "entry",
    WorkerError.exit_code: "python",
    HardwareError.exit_code: "device",
    ModelError.exit_code: "model",
}


@frozen
class Said:
    """A sentence for an editor. ``remedies``: what helps, of ``REMEDIES``, the best first; empty where nothing is known to."""

    message: str
    remedies: tuple[str, ...] = ()


def said(sentence: str, exit_code: int | None = None) -> Said:
    """The same in an editor's words. ``exit_code``: of the error, as the command line has it; None where it isn't known."""
    found: dict[str, None] = {}
    for pattern, words, remedies in _RULES:
        sentence, times = pattern.subn(words, sentence)
        found |= dict.fromkeys(remedies if times else ())
    found |= {remedy: None for pattern, remedy in _ALSO if pattern.search(sentence)}
    if not found and exit_code in _BY_CODE:
        found[_BY_CODE[exit_code]] = None
    return Said(sentence, tuple(found))


def of_error(error: KernelBandError) -> Said:
    """Of one that was raised in this process."""
    return said(error.message, error.exit_code)


def words(sentence: str) -> str:
    """Only the sentence."""
    return said(sentence).message


def joined(all_: Sequence[Said]) -> tuple[str, ...]:
    """The remedies of several, each once."""
    return tuple(dict.fromkeys(remedy for one in all_ for remedy in one.remedies))
