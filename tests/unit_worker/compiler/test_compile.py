"""What the compile operation says of kernels whose machine code is known (numbers of the notes, measured with Triton 3.6 and 3.9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband_worker.compiler.tools import ptxas_path
from kernelband_worker.errors import OperationFailed

ALL = [80, 86, 89, 90, 100, 120, "gfx942", "gfx950"]


def line_of(text: str) -> int:
    lines = Path(__file__).with_name("sample_kernels.py").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def _target(make, arch):
    return make.hip(arch) if isinstance(arch, str) else make.cuda(arch)


def test_vector_add_is_four_wide_loads_and_two_stores(compiled, make):
    facts = compiled(make.add())
    assert facts["registers"] == 26
    assert (facts["spill_store_bytes"], facts["spill_load_bytes"], facts["stack_bytes"]) == (0, 0, 0)
    assert facts["shared_bytes"] == 0
    assert facts["opcodes"]["LDG.E.128"] == 4
    assert facts["opcodes"]["STG.E.128"] == 2
    assert facts["tensor_core"] is None
    assert facts["warnings"] == []
    assert facts["unusable"] is None
    lines = {(a["line"], a["store"], a["bits"], a["count"]) for a in facts["accesses"] if a["space"] == "global"}
    assert lines == {(12, False, 128, 2), (13, False, 128, 2), (14, True, 128, 2)}
    assert {a["path"] for a in facts["accesses"]} == {make.add()["kernel"]["path"]}


def test_each_instruction_belongs_to_a_line(compiled, make):
    facts = compiled(make.add())
    lines = {x["line"]: x["instructions"] for x in facts["lines"]}
    assert {x["path"] for x in facts["lines"]} == {make.add()["kernel"]["path"]}
    assert min(lines[12], lines[13], lines[14]) >= 2
    assert 0.9 * sum(facts["opcodes"].values()) <= sum(lines.values()) <= sum(facts["opcodes"].values())
    assert compiled(make.add(), instructions=False)["lines"] == []


def test_ptx_gives_the_same_accesses_as_the_machine_code(compiled, make):
    def wide(facts):
        return sorted((a["space"], a["store"], a["bits"], a["count"], a["line"]) for a in facts["accesses"] if a["space"] == "global")

    assert wide(compiled(make.add(), instructions=False)) == wide(compiled(make.add()))
    assert compiled(make.add(), instructions=False)["opcodes"] == {}
    cold, warm = make.matmul(64, 64, 32, num_stages=3), make.matmul(64, 64, 32, num_stages=3)
    assert {a[:3] for a in wide(compiled(cold, make.cuda(80), False))} == {a[:3] for a in wide(compiled(warm, make.cuda(80)))}


def test_odd_length_is_narrow_and_says_why(compiled, make):
    facts = compiled(make.add(4095))
    narrow = [w for w in facts["warnings"] if w["code"] == "narrow-access"]
    assert [w["line"] for w in narrow] == [12, 13, 14]
    assert "reads 4 bytes at a time; 16 are possible" in narrow[0]["message"]
    assert "n = 4095 is no multiple of 16" in narrow[0]["message"]


def test_hopper_matmul_uses_wgmma(compiled, make):
    facts = compiled(make.matmul(128, 256, 64, num_warps=8, num_stages=3))
    assert facts["tensor_core"] == "wgmma"
    assert facts["shared_bytes"] == 147456
    assert 190 <= facts["registers"] <= 216
    assert facts["spill_store_bytes"] == 0
    assert sum(n for o, n in facts["opcodes"].items() if o.startswith("HGMMA")) == 4
    assert facts["unusable"] is None


@pytest.mark.parametrize("arch", ALL)
def test_every_target_gives_registers_instructions_and_accesses(compiled, make, arch):
    facts = compiled(make.matmul(64, 64, 32, num_warps=4, num_stages=2), _target(make, arch))
    assert facts["target"]["arch"] == arch
    assert 20 <= facts["registers"] <= 255
    assert facts["opcodes"]
    assert any(a["space"] == "global" and not a["store"] for a in facts["accesses"])
    assert any(a["space"] == "global" and a["store"] for a in facts["accesses"])
    expected = {90: "wgmma", 100: "tcgen05", "gfx942": "mfma", "gfx950": "mfma"}.get(arch, "mma")
    assert facts["tensor_core"] == expected
    assert facts["spill_store_bytes"] == 0


def test_tile_over_the_limit_is_unusable_and_points_at_the_line(compiled, make):
    facts = compiled(make.matmul(128, 256, 64, num_warps=8, num_stages=4), make.cuda(89), False)
    over = [w for w in facts["warnings"] if w["code"] == "shared-over-limit"]
    assert len(over) == 1
    assert over[0]["line"] in (line_of("x = tl.load(a_at"), line_of("y = tl.load(b_at"))
    assert "101376" in over[0]["message"]
    assert facts["unusable"] == over[0]["message"]


def test_spills_are_counted_and_placed(compiled, make):
    facts = compiled(make.matmul(128, 128, 32, num_warps=4, num_stages=2, maxnreg=64), make.cuda(80))
    assert facts["registers"] <= 64
    assert facts["spill_store_bytes"] > 0
    assert facts["spill_load_bytes"] > 0
    spills = [w for w in facts["warnings"] if w["code"] == "spills"]
    assert len(spills) == 1
    assert spills[0]["path"].endswith("sample_kernels.py")
    assert str(facts["spill_store_bytes"]) in spills[0]["message"]


def test_second_time_comes_from_the_cache_with_the_same_facts(compiled, make):
    spec = make.matmul(64, 32, 32, num_warps=4, num_stages=2, maxnreg=64)
    first, second = compiled(spec, instructions=False), compiled(spec, instructions=False)
    assert (first["cache_hit"], second["cache_hit"]) == (False, True)
    for facts in (first, second):
        facts.pop("seconds")
        facts.pop("cache_hit")
    assert first == second


def test_spills_of_cached_code_are_found_again(compiled, make, cache):
    """ptxas' log is gone with the first build: the report is made apart, and agrees."""
    spec = make.matmul(128, 128, 32, num_warps=4, num_stages=2, maxnreg=72)
    first = compiled(spec, make.cuda(80), False)
    for kept in (cache / "kernelband-facts").iterdir():
        kept.unlink()
    second = compiled(spec, make.cuda(80), False)
    assert second["cache_hit"]
    assert first["spill_store_bytes"] == second["spill_store_bytes"] > 0
    assert first["spill_load_bytes"] == second["spill_load_bytes"]


def test_code_hash_ignores_lines_but_not_warps(compiled, make):
    a, b = compiled(make.add(4096), instructions=False), compiled(make.add(8192), instructions=False)
    assert a["code_hash"] == b["code_hash"]
    assert compiled(make.add(num_warps=8), instructions=False)["code_hash"] != a["code_hash"]
    assert compiled(make.add(), make.cuda(80), False)["code_hash"] != a["code_hash"]


def test_a_jit_function_may_be_a_constant(compiled, make):
    plain = compiled(make.matmul(32, 32, 32, num_warps=4), instructions=False)
    relu = compiled(make.matmul(32, 32, 32, {"jit_function": "sample_kernels:relu"}, num_warps=4), instructions=False)
    assert plain["code_hash"] != relu["code_hash"]


def test_compile_error_names_the_line_of_the_call(compiled, make):
    with pytest.raises(OperationFailed) as caught:
        compiled(make.launch("broken", {"x": "*fp32"}, {"BLOCK": 64}, ["x"]))
    failed = caught.value
    assert failed.kind == "compile_error"
    assert failed.data["line"] == line_of("tl.store(at, broken_helper")
    assert "no_such_function" in failed.message
    assert failed.data["path"].endswith("sample_kernels.py")


def test_wgmma_that_waits_is_seen(compiled, make):
    facts = compiled(make.matmul(128, 256, 64, num_warps=4, num_stages=3), instructions=False)
    assert facts["tensor_core"] == "wgmma"
    waits = [w for w in facts["warnings"] if w["code"] == "wgmma-serialized"]
    assert len(waits) == 1
    assert waits[0]["line"] == line_of("total = tl.dot(")
    assert "insufficient register resources" in waits[0]["message"]
    assert "more warps" in waits[0]["message"]


def test_the_assembler_has_the_last_word(compiled, make):
    with pytest.raises(OperationFailed) as caught:
        compiled(make.matmul(128, 256, 64, num_warps=8, maxnreg=96))
    assert caught.value.kind == "compile_error"
    assert "Insufficient registers (96)" in caught.value.message


@pytest.mark.parametrize("kills", [1, 2])
def test_an_assembler_that_is_killed_says_nothing_of_the_kernel(compiled, make, tmp_path, monkeypatch, kills):
    script, lives = tmp_path / "ptxas", tmp_path / "lives"
    lives.write_text("x" * kills)
    # one letter less each time that it is killed; Triton asks for its version, too
    kill = f'case "$*" in *--version*) ;; *) if [ -s {lives} ]; then truncate -s -1 {lives}; kill -9 $$; fi ;; esac'
    script.write_text(f'#!/bin/sh\n{kill}\nexec {ptxas_path(90)} "$@"\n')
    script.chmod(0o755)
    for variable in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        monkeypatch.setenv(variable, str(script))
    launch = make.add(num_warps=kills)  # one that no cache has
    if kills == 1:
        assert compiled(launch)["registers"] > 0
        return
    with pytest.raises(OperationFailed) as caught:
        compiled(launch)
    assert caught.value.kind == "out_of_memory"
    assert "killed" in caught.value.message


def test_a_hip_launch_keeps_buffer_instructions_of_small_tensors(compiled, make):
    """Retargeting from CUDA adds what AMD's own specialisation would: tensors under 2 GiB may use buffer loads."""
    facts = compiled(make.add(), make.hip("gfx942"))
    loads = {a["opcode"] for a in facts["accesses"] if not a["store"]}
    assert loads == {"buffer_load_dwordx4"}
    assert all(a["line"] in (12, 13, 14) for a in facts["accesses"])
