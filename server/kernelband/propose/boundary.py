"""Where the recorded calls begin: an edit outside of what they run would be tried in vain."""

from __future__ import annotations

from collections.abc import Sequence

from kernelband.source.model import Edit, Patch, Program, Span
from kernelband_worker.wire import Case


def is_launch(cases: Sequence[Case]) -> bool:
    """Whether every recorded call is the launch itself, so that no host function runs again."""
    return bool(cases) and all(case.get("boundary") == "launch" for case in cases)


def unseen_host(program: Program, patch: Patch, cases: Sequence[Case]) -> str:
    """The first host function that the patch edits although no recorded call runs it; "" where there is none.

    Kernels keep their own text even inside of a host function or of a module that launches.
    """
    if not is_launch(cases):
        return ""
    jit = [(k.place.path, k.span) for k in (program.kernel, *program.helpers)]
    for host in program.hosts:
        spans = [host.span]
        if host.kind == "module":  # it spans the file: what its launches are made of
            spans = [s for launch in host.launches for s in (launch.span, *(a.span for a in launch.assignments))]
        for file in patch.files:
            kept = [span for path, span in jit if path == file.path]
            if file.path == host.place.path and any(_reaches(e, spans) and not _reaches(e, kept) for e in file.edits):
                return host.place.qualname
    return ""


def _reaches(edit: Edit, spans: Sequence[Span]) -> bool:
    """Whether it changes something inside of one of them; what is put in front of a function isn't inside."""
    return any(max(edit.span.start, s.start) < min(edit.span.end, s.end) or s.start < edit.span.start < s.end for s in spans)
