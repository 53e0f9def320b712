"""Read Python text, broken or not: kernels, host functions, launches, constexprs; make and apply edits.

Public surface (other rooms import from here only):
    Workspace            roots, texts (disk under overlays), module names and files
    find_kernels         the kernels of one text
    find_program         a kernel with its helpers and the host functions that launch it, over the workspace
    parse                text -> parso tree, cached by text hash
    compose, between     patch algebra: two patches in a row as one; the patch between two texts
    unified_diff         a patch as text for people
"""
