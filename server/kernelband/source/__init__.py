"""Read Python text, broken or not: kernels, host functions, launches, constexprs; make and apply edits.

Public surface (other rooms import from here only):
    Workspace            roots, texts (disk under overlays), encodings, module names and files; ``Workspace.for_file``
    Texts                a workspace in which nothing else may launch a kernel
    find_program         a kernel with its helpers and the host functions that launch it, over the workspace
    find_others          the programs of other kernels that the same host functions launch
    choose_kernel        the one that is meant of several
    require_parsable     refuses text that isn't Python, with line and message
    find_kernels         the kernels of one text
    Census               names and lines of the kernels of all files below a folder, remembered
    list_kernels, Listed the same of one text; one of them
    IncrementalKernels   the same for a text that is being typed, by what changed
    parse                text -> parso tree, cached per text
    node_span            a node's characters as a Span; ``trimmed_span`` without the newline at its end
    offset_at, line_column   (line, column) of parso <-> character offset
    expression           a node as an Expression with the variables that it reads
    walk, children, value, code   a parso tree with types: nodes in source order, parts, a leaf's characters, a node's characters
    make_patch           edits per path -> one patch; sorts and refuses overlap
    compose, between     patch algebra: two patches in a row as one; the patch between two texts
    patch_to_json, patch_from_json   as the database has them
    form                 the same for two texts of one program, however they are written
    transplant, changed  a variant's patch in another text of its program; what makes a text another program
    program_in           the program of a kernel among some texts
    committed_text       a file as it is at a commit; asks git
    Cells                a notebook's code cells as one program; its edits by cell
    is_notebook, decode_file   bytes of a notebook or a Python file -> program
    differing_files      Python files that aren't what they were at a commit
    unified_diff         a patch as text for people and for ``git apply``
"""

from kernelband.source.cells import Cells
from kernelband.source.census import Census
from kernelband.source.checks import require_parsable
from kernelband.source.committed import committed_text
from kernelband.source.diff import unified_diff
from kernelband.source.differing import differing_files
from kernelband.source.folders import is_notebook
from kernelband.source.form import form
from kernelband.source.incremental import IncrementalKernels
from kernelband.source.ipynb import decode_file
from kernelband.source.kernels import find_kernels
from kernelband.source.listed import Listed, list_kernels
from kernelband.source.patch import between, compose, make_patch, patch_from_json, patch_to_json
from kernelband.source.program import choose_kernel, find_others, find_program
from kernelband.source.transplant import changed, program_in, transplant
from kernelband.source.tree import (
    ancestors,
    children,
    code,
    expression,
    line_column,
    node_span,
    offset_at,
    parse,
    trimmed_span,
    value,
    walk,
)
from kernelband.source.workspace import Texts, Workspace

__all__ = [
    "Cells",
    "Census",
    "IncrementalKernels",
    "Listed",
    "Texts",
    "Workspace",
    "ancestors",
    "between",
    "changed",
    "children",
    "choose_kernel",
    "code",
    "committed_text",
    "compose",
    "decode_file",
    "differing_files",
    "expression",
    "find_kernels",
    "find_others",
    "find_program",
    "form",
    "is_notebook",
    "line_column",
    "list_kernels",
    "make_patch",
    "node_span",
    "offset_at",
    "parse",
    "patch_from_json",
    "patch_to_json",
    "program_in",
    "require_parsable",
    "transplant",
    "trimmed_span",
    "unified_diff",
    "value",
    "walk",
]
