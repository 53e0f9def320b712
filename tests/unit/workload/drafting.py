"""Drafts of kernels and host functions that a test writes, and what each of them has to be."""

from __future__ import annotations

import ast
from pathlib import Path

from kernelband.source import Workspace, find_program
from kernelband.workload.draft import Draft, draft_entry

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
COPY = """
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

"""
ROWS = """
@triton.jit
def rows_kernel(x_ptr, w_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, x * tl.load(w_ptr + cols, mask=mask), mask=mask)

"""
LAUNCH = "    y = torch.empty_like(x)\n    copy_kernel[(1,)](x, y, x.numel(), BLOCK=64)\n"


def drafted(path: Path, kernel: str | None = None, answers: dict[str, str] | None = None, out: str | None = None) -> Draft:
    workspace = Workspace.for_file(str(path))
    return draft_entry(workspace, find_program(workspace, str(path), kernel), answers, out=out)


def of_text(folder: Path, text: str, kernel: str | None = None, **given: str) -> Draft:
    path = folder / "ops.py"
    path.write_text(HEAD + text)
    return drafted(path, kernel, given)


def code(draft: Draft) -> list[str]:
    """The lines of the function, without comments."""
    body = draft.text.partition(f"def {draft.entry}():\n")[2]
    return [line.partition("  # ")[0].strip() for line in body.splitlines() if line.strip()]


def commented(draft: Draft, start: str) -> str:
    """The comment of the line that begins so."""
    return next(line.strip() for line in draft.text.splitlines() if line.strip().startswith(start)).partition("  # ")[2]


def require_complete(draft: Draft) -> None:
    """It is Python, a function without arguments that uses nothing that isn't there, and marks what it guesses."""
    tree = ast.parse(draft.text)
    (function,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == draft.entry)
    assert not function.args.args
    there = {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    for statement in function.body:
        used = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        local = {n.target.id for n in ast.walk(statement) if isinstance(n, ast.comprehension) and isinstance(n.target, ast.Name)}
        local |= {a.arg for n in ast.walk(statement) if isinstance(n, ast.Lambda) for a in n.args.args}
        assert used - there - local <= {"range", "isinstance", "tuple"}, ast.unparse(statement)
        there |= bound
    lines = {name: line for line in draft.text.splitlines() if " = " in line for name in line.partition(" = ")[0].strip().split(", ")}
    assert all("  # guessed: " in lines[guess.name] for guess in draft.guesses), draft.text
