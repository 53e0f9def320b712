"""Moves on text as people write it, and worse: every proposal parses, keeps what it doesn't edit, and nothing raises."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.source import Workspace, find_program
from kernelband.strategies import STRATEGIES, strategy
from tests.unit.strategies.samples import EXAMPLES, again, example, example_facts, facts, launch, program_of

NAMES = ("vector_add", "fused_softmax", "layer_norm", "matmul")


def everything(program, given_facts):
    return [p for s in STRATEGIES for p in s.propose(program, given_facts)]


def check(program, given_facts):
    """Every proposal parses, edits only where it says, has a key of its own."""
    found = everything(program, given_facts)
    for proposal in found:
        after = proposal.patch.apply(program.texts)
        for file in proposal.patch.files:
            ast.parse(after[file.path])
            text, at, rest = program.texts[file.path], 0, after[file.path]
            for edit in file.edits:
                kept = text[at : edit.span.start]
                assert rest.startswith(kept + edit.new)
                rest, at = rest[len(kept) + len(edit.new) :], edit.span.end
            assert rest == text[at:]
            if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
                assert "\n" not in after[file.path].replace("\r\n", "")
    assert len({p.key for p in found}) == len(found)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_proposals_are_sound_and_the_same_again(name, tmp_path):
    program = example(name, tmp_path)
    found = check(program, example_facts(name, program))
    assert len(found) > 5
    assert [(p.key, p.patch) for p in everything(program, example_facts(name, program))] == [(p.key, p.patch) for p in found]


SPOIL = {
    "crlf": lambda t: t.replace("\n", "\r\n"),
    "tabs": lambda t: t.replace("    ", "\t"),
    "no newline at the end": lambda t: t.rstrip("\n"),
    "comment after each line": lambda t: "\n".join(x + "  # é ü 漢" if x.endswith((",", ")", "0", "1")) else x for x in t.split("\n")),
    "names not in ASCII": lambda t: re.sub(r"\b(pid|row|mask)\b(?!=)", r"\1_é", t),
    "another alias": lambda t: t.replace("triton.language as tl", "triton.language as L").replace("tl.", "L."),
    "from triton import": lambda t: t.replace("import triton.language as tl", "from triton import language as tl"),
    "form feeds": lambda t: t.replace("\n\n\n", "\n\n\f\n"),
}


#: All of them in three texts: some exclude each other.
TOGETHER = (("tabs", "from triton import"), tuple(way for way in SPOIL if way not in ("tabs", "from triton import", "crlf")), ("crlf",))
#: One by one in a short program, together in long ones.
SPOILED = [*(("vector_add", (way,)) for way in SPOIL), *((name, ways) for name in NAMES[1:] for ways in TOGETHER)]


def spoil(text, ways):
    for way in ways:
        text = SPOIL[way](text)
    return text


@pytest.fixture(scope="module")
def plain_keys(tmp_path_factory):
    """The keys of all proposals for an example as it is, by its name."""

    @cache
    def keys(name):
        plain = example(name, tmp_path_factory.mktemp("plain"))
        return {p.key for p in everything(plain, example_facts(name, plain))}

    return keys


@pytest.mark.parametrize(("name", "ways"), SPOILED, ids=lambda x: x if isinstance(x, str) else ", ".join(x))
def test_formatting_changes_nothing(name, ways, tmp_path, plain_keys):
    program = program_of(spoil((EXAMPLES / f"{name}.py").read_text(), ways), tmp_path, "spoiled.py")
    assert {p.key for p in check(program, example_facts(name, program))} == plain_keys(name)


LAUNCHES = {
    "one line": ("add_kernel[grid](x, y, out, n, BLOCK=1024)", "add_kernel[grid](x, y, out, n, BLOCK=2048, num_warps=8)"),
    "trailing comma": ("add_kernel[grid](x, y, out, n, BLOCK=1024,)", "add_kernel[grid](x, y, out, n, BLOCK=2048, num_warps=8,)"),
    "blank before the parenthesis": (
        "add_kernel[grid](x, y, out, n, BLOCK=1024 )",
        "add_kernel[grid](x, y, out, n, BLOCK=2048, num_warps=8 )",
    ),
    "one argument a line": (
        "add_kernel[grid](\n        x,\n        y,\n        out,\n        n,\n        BLOCK=1024,  # a block\n    )",
        "add_kernel[grid](\n        x,\n        y,\n        out,\n        n,\n        BLOCK=2048,  # a block\n        num_warps=8,\n    )",
    ),
    "no comma at the end": (
        "add_kernel[grid](\n        x, y, out,\n        n,\n        BLOCK=1024  # a block\n    )",
        "add_kernel[grid](\n        x, y, out,\n        n,\n        BLOCK=2048,  # a block\n        num_warps=8\n    )",
    ),
    "parentheses": ("add_kernel[grid](x, y, out, n, BLOCK=(1024))", "add_kernel[grid](x, y, out, n, BLOCK=(2048), num_warps=8)"),
    "comma on the next line": (
        "add_kernel[grid](x, y, out, n, BLOCK=1024  # x\n    ,)",
        "add_kernel[grid](x, y, out, n, BLOCK=2048  # x\n    , num_warps=8,)",
    ),
    "warps written": ("add_kernel[grid](x, y, out, n, num_warps=2, BLOCK=1024)", "add_kernel[grid](x, y, out, n, num_warps=8, BLOCK=2048)"),
    "positional": ("add_kernel[grid](x, y, out, n, 1024)", "add_kernel[grid](x, y, out, n, 2048, num_warps=8)"),
    "number in the grid": (
        "add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)",
        "add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "grid by hand": (
        "add_kernel[((n + 1024 - 1) // 1024,)](x, y, out, n, BLOCK=1024)",
        "add_kernel[((n + 2048 - 1) // 2048,)](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "host variable": (
        "B = 1024\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B)",
        "B = 2048\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B, num_warps=8)",
    ),
    "pair": (
        "B, w = 1024, 4\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B)",
        "B, w = 2048, 4\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B, num_warps=8)",
    ),
    "grid function": (
        "def g(m):\n        return (triton.cdiv(n, m['BLOCK']),)\n    add_kernel[g](x, y, out, n, BLOCK=1024)",
        "def g(m):\n        return (triton.cdiv(n, m['BLOCK']),)\n    add_kernel[g](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "shared with another kernel": (
        "B = 1024\n    other[(1,)](x, BLOCK=B)\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B)",
        "B = 1024\n    other[(1,)](x, BLOCK=B)\n    add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "splat": ("add_kernel[grid](x, y, out, n, BLOCK=1024, **options)", None),
    "computed block": (
        "B = min(1024, n // 4)\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B)",
        "B = 2048\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B, num_warps=8)",
    ),
    "two bindings": (
        "B = 1024\n    if n > 5:\n        B = 512\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B)",
        "B = 1024\n    if n > 5:\n        B = 512\n    add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "a helper's answer": (
        "B, warps = settings(n)\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B, num_warps=warps)",
        "B, warps = settings(n)\n    add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "an attribute": (
        "add_kernel[(triton.cdiv(n, out.block),)](x, y, out, n, BLOCK=out.block)",
        "add_kernel[(triton.cdiv(n, 2048),)](x, y, out, n, BLOCK=2048, num_warps=8)",
    ),
    "a caller's choice": ("add_kernel[(triton.cdiv(n, options),)](x, y, out, n, BLOCK=options)", None),
    "something else is made of it": (
        "B, warps = settings(n)\n    z = torch.empty(B)\n    add_kernel[(triton.cdiv(n, B),)](x, z, out, n, BLOCK=B)",
        None,
    ),
    "a grid made of it before": (
        "B, warps = settings(n)\n    N = triton.cdiv(n, B)\n    add_kernel[(N,)](x, y, out, n, BLOCK=B)",
        None,
    ),
    "grid that ignores the block": ("add_kernel[(7,)](x, y, out, n, BLOCK=1024)", None),
}

ADD = """\
import torch
import triton
import triton.language as tl

DEFAULT = 1024

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + tl.load(y_ptr + offs, mask=offs < n), mask=offs < n)


def add(x, y, out, n, **options):
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    LAUNCH
"""


def _add_facts(program):
    return facts(launch(program, [32768, 1, 1], {"BLOCK": 1024}, {"n": 2**25}, {"x_ptr": ([2**25], "float32")}))


@pytest.mark.parametrize("how", LAUNCHES)
def test_ways_to_write_a_launch(how, tmp_path):
    before, wanted = LAUNCHES[how]
    program = program_of(ADD.replace("LAUNCH", before), tmp_path)
    found = {p.key: p for p in check(program, _add_facts(program))}
    key = "tiling.tiles(BLOCK=2048,num_warps=8)"
    if wanted is None:
        assert key not in found
    else:
        assert found[key].patch.apply(program.texts)[program.kernel.place.path] == ADD.replace("LAUNCH", wanted)


def test_defaults_and_constants_of_the_module(tmp_path):
    text = ADD.replace("n, **options", "n, block=1024").replace("LAUNCH", "add_kernel[grid](x, y, out, n, BLOCK=block)")
    program = program_of(text, tmp_path)
    key = "tiling.tiles(BLOCK=2048,num_warps=8)"
    found = {p.key: p for p in check(program, _add_facts(program))}
    assert "block=2048" in found[key].patch.apply(program.texts)[program.kernel.place.path]
    text = ADD.replace("LAUNCH", "add_kernel[grid](x, y, out, n, BLOCK=DEFAULT)")
    program = program_of(text, tmp_path, "constant.py")
    found = {p.key: p for p in check(program, _add_facts(program))}
    assert "DEFAULT = 2048\n" in found[key].patch.apply(program.texts)[program.kernel.place.path]
    program = program_of(text + "\nprint(DEFAULT)\n", tmp_path, "shared.py")  # something else reads it: the launch alone
    found = {p.key: p for p in check(program, _add_facts(program))}
    after = found[key].patch.apply(program.texts)[program.kernel.place.path]
    assert "DEFAULT = 1024\n" in after
    assert "BLOCK=2048, num_warps=8)" in after


def test_a_default_of_the_kernel_changes_where_the_launch_passes_none(tmp_path):
    text = ADD.replace("BLOCK: tl.constexpr)", "BLOCK: tl.constexpr = 1024)").replace("LAUNCH", "add_kernel[grid](x, y, out, n)")
    program = program_of(text, tmp_path)
    found = {p.key: p for p in check(program, _add_facts(program))}
    after = found["tiling.tiles(BLOCK=2048,num_warps=8)"].patch.apply(program.texts)[program.kernel.place.path]
    assert "BLOCK: tl.constexpr = 2048)" in after


def test_a_block_that_differs_between_the_cases_is_left_alone(tmp_path):
    text = ADD.replace("LAUNCH", "B = min(1024, n // 4)\n    add_kernel[(triton.cdiv(n, B),)](x, y, out, n, BLOCK=B)")
    program = program_of(text, tmp_path)
    tensors = {"x_ptr": ([2**25], "float32")}
    given = facts(*(launch(program, [2**25 // b, 1, 1], {"BLOCK": b}, {"n": 2**25}, tensors) for b in (1024, 512)))
    assert not any("BLOCK" in p.parameters for p in check(program, given))


def test_autotune_list_keeps_its_other_configurations(tmp_path):
    configs = '[\n    triton.Config({"BLOCK": 512}, num_warps=4),\n    triton.Config({"BLOCK": 1024}),\n]'
    text = ADD.replace("@triton.jit", f'@triton.autotune(configs={configs}, key=["n"])\n@triton.jit').replace(
        "LAUNCH", "add_kernel[grid](x, y, out, n)"
    )
    program = program_of(text, tmp_path)
    chosen = launch(program, [32768, 1, 1], {"BLOCK": 1024}, {"n": 2**25}, {"x_ptr": ([2**25], "float32")})
    given_facts = facts({**chosen, "config": {"BLOCK": 1024, "num_warps": 4, "num_stages": 3}})
    found = {p.key: p for p in check(program, given_facts)}
    edited = found["tiling.tiles(BLOCK=2048,config=1,num_warps=8)"].patch.apply(program.texts)[program.kernel.place.path]
    assert edited == text.replace('triton.Config({"BLOCK": 1024})', 'triton.Config({"BLOCK": 2048}, num_warps=8)')
    # Where it chose another one for another case, both stay.
    smaller = launch(program, [4, 1, 1], {"BLOCK": 512}, {"n": 2048}, {"x_ptr": ([2048], "float32")})
    smaller_facts = {**smaller, "config": {"BLOCK": 512, "num_warps": 4, "num_stages": 3}}
    two = facts({**chosen, "config": {"BLOCK": 1024, "num_warps": 4, "num_stages": 3}}, smaller_facts)
    found = {p.key: p for p in check(program, two)}
    edited = found["tiling.tiles(BLOCK=2048,config=+,num_warps=8)"].patch.apply(program.texts)[program.kernel.place.path]
    last = 'triton.Config({"BLOCK": 1024}),\n'
    assert edited == text.replace(last, last + '    triton.Config({"BLOCK": 2048}, num_warps=8, num_stages=3),\n')


def test_without_masks_only_divisors_replace_a_block(tmp_path):
    text = ADD.replace(", mask=offs < n", "").replace("LAUNCH", "add_kernel[grid](x, y, out, n, BLOCK=1024)")
    program = program_of(text, tmp_path)
    found = strategy("tiling").propose(program, _add_facts(program))
    blocks = {p.parameters["BLOCK"]: "whole = " in p.patch.apply(program.texts)[program.kernel.place.path] for p in found}
    assert blocks
    assert all(asked if b > 1024 else 1024 % b == 0 and not asked for b, asked in blocks.items())


def test_a_grid_of_two_launches_keeps_the_number_that_it_repeats(tmp_path):
    launches = (
        "grid = (triton.cdiv(n, 1024),)\n    add_kernel[grid](x, y, out, n, BLOCK=1024)\n    add_kernel[grid](out, y, x, n, BLOCK=1024)"
    )
    program = program_of(ADD.replace("LAUNCH", launches), tmp_path)
    assert all(p.parameters.get("BLOCK", 1024) == 1024 for p in strategy("tiling").propose(program, _add_facts(program)))


def test_kernel_and_launch_in_two_files(tmp_path):
    kernel, _ = ADD.replace("LAUNCH", "").split("\n\ndef add")
    (tmp_path / "kernels.py").write_text(kernel + "\n")
    (tmp_path / "ops.py").write_text(
        "import triton\nfrom kernels import add_kernel\n\n\nclass Add:\n    @staticmethod\n    def run(x, y, out, n):\n"
        "        add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)\n"
    )
    path = str((tmp_path / "kernels.py").resolve())
    program = find_program(Workspace.for_file(path), path, "add_kernel")
    found = {p.key: p for p in check(program, _add_facts(program))}
    after = found["reordering.persistent(per_multiprocessor=8)"].patch.apply(program.texts)
    assert "for pid in tl.range(" in after[path]
    assert "add_kernel[(min(triton.cdiv(n, 1024), 132 * 8),)]" in after[str((tmp_path / "ops.py").resolve())]
    tile = found["tiling.tiles(BLOCK=2048,num_warps=8)"]
    assert [f.path for f in tile.patch.files] == [str((tmp_path / "ops.py").resolve())]


PERSISTENT_TRAPS = {
    "pointer moves on": ("    x = tl.load", "    x_ptr += 0\n    x = tl.load"),
    "early return": ("    x = tl.load", "    if pid > 7:\n        return\n    x = tl.load"),
    "carried from the tile before": ("    pid = tl.program_id(0)", "    seen = 0\n    pid = tl.program_id(0)\n    seen = seen + pid"),
    "two program ids": ("    x = tl.load", "    j = tl.program_id(1)\n    x = tl.load"),
    "atomics": ("    x = tl.load", "    tl.atomic_add(y_ptr, 1.0)\n    x = tl.load"),
}


@pytest.mark.parametrize("trap", PERSISTENT_TRAPS)
def test_a_tile_that_leaves_something_behind_is_not_looped_over(trap, tmp_path):
    text = ADD.replace("LAUNCH", "add_kernel[grid](x, y, out, n, BLOCK=1024)")
    before, after = PERSISTENT_TRAPS[trap]
    assert before in text
    program = program_of(text.replace(before, after, 1), tmp_path)
    assert not [p for p in check(program, _add_facts(program)) if p.move == "persistent"]


def test_broken_and_unlaunched_programs_have_no_proposals(tmp_path):
    program = program_of(ADD.replace("LAUNCH", "add_kernel[grid](x, y, out, n, BLOCK=1024)") + "\ndef half(:\n", tmp_path)
    assert everything(program, _add_facts(program)) == []
    program = program_of(ADD.replace("LAUNCH", "pass"), tmp_path, "alone.py")
    assert all(p.strategy in ("pipeline", "access_layout") for p in check(program, _add_facts(program)))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_random_damage_never_raises(data, tmp_path):
    """Lines deleted, doubled and swapped, characters inserted: proposals stay sound or there are none."""
    name = data.draw(st.sampled_from(NAMES))
    lines = (EXAMPLES / f"{name}.py").read_text().split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.sampled_from(["delete", "double", "swap", "insert", "split"]))
        if kind == "delete" and len(lines) > 1:
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "insert":
            column = data.draw(st.integers(0, len(lines[at])))
            piece = data.draw(st.sampled_from(["(", ")", ",", "#", "\t", "\\", '"', "é", "*", " ", ";", "\r", "\f", "\u2028"]))
            lines[at] = lines[at][:column] + piece + lines[at][column:]
        else:
            lines[at] = lines[at].replace(", ", ",\n            ", 1)
    original = example(name, tmp_path)
    try:
        program = again(original, {original.kernel.place.path: "\n".join(lines)}, tmp_path)
    except SourceError:
        return
    check(program, example_facts(name, program))
