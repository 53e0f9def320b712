"""Readers of tool output: known lines are read, any other text is survived."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband_worker.compiler import amd, elf, machine_code, ptx, ptxas, ttgir

SASS = """
	//## File "/w/k.py", line 12
        /*0180*/              @!P0 LDG.E.128 R16, desc[UR4][R2.64] ;
        /*0190*/                   FADD R1, R2, R3 ;
	//## File "/w/k.py", line 14
        /*0220*/              @!P0 STG.E.U16 desc[UR4][R16.64], R12 ;
        /*0230*/              @UP0 UTMALDG.2D [UR4], [UR6] ;
        /*0240*/                   LDSM.16.M88.4 R4, [R1] ;
        /*0250*/                   NOP ;
"""


def test_sass():
    found = machine_code.parse(SASS)
    assert found.opcodes == {"LDG.E.128": 1, "FADD": 1, "STG.E.U16": 1, "UTMALDG.2D": 1, "LDSM.16.M88.4": 1}
    got = [(a["opcode"], a["space"], a["store"], a["bits"], a["line"]) for a in found.accesses]
    assert got == [
        ("LDG.E.128", "global", False, 128, 12),
        ("STG.E.U16", "global", True, 16, 14),
        ("UTMALDG.2D", "global", False, 128, 14),
        ("LDSM.16.M88.4", "shared", False, 128, 14),
    ]
    assert found.sites["FADD"] == {("/w/k.py", 12): 1}
    assert "NOP" not in found.sites


PTX = """
	.loc	1 12 9
	// begin inline asm
	.loc	1 12 9
	mov.u32 %r1, 0x0;
	.loc	1 13 9
	mov.u32 %r2, 0x0;
	@%p1 ld.global.v2.b32 { %r1, %r2 }, [ %rd1 + 0 ];
	// end inline asm
	.loc	1 20 5
	st.shared.v4.b32 	[%r339], {%r269, %r271, %r273, %r275};
	cp.async.cg.shared.global [ %r25 + 0 ], [ %rd24 + 0 ], 0x10, %r27;
	@%p24 st.global.b16 [ %rd114 + 0 ], { %rs1 };
	atom.global.gpu.acq_rel.add.f32 	%f1, [%rd1], %f2;
	.file	1 "/w/k.py"
"""


def test_ptx():
    got = [(a["opcode"], a["store"], a["bits"], a["line"]) for a in ptx.accesses(PTX)]
    assert got == [
        ("ld.global", False, 64, 12),
        ("st.shared", True, 128, 20),
        ("cp.async", False, 128, 20),
        ("st.global", True, 16, 20),
        ("atom.global", True, 32, 20),
    ]
    assert ptx.shifted_lines(PTX) == {("/w/k.py", 13, False): ("/w/k.py", 12)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("wgmma.mma_async.sync", "wgmma"), ("tcgen05.mma.cta", "tcgen05"), ("mma.sync.aligned.m16n8k16", "mma"), ("add.f32", None)],
)
def test_tensor_core(text, kind):
    assert ptx.tensor_core(text) == kind


PTXAS = """ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register \
resources for the wgmma pipeline in the function 'matmul'
ptxas info    : Function properties for matmul
    792 bytes stack frame, 1936 bytes spill stores, 1424 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers
"""


def test_ptxas_report():
    found = ptxas.parse(PTXAS)
    assert found == ptxas.PtxasReport(255, 792, 1936, 1424, "insufficient register resources for the wgmma pipeline")
    assert ptxas.parse("no report") is None


AMD = """
	.file	1 "/w" "k.py"
	.loc	1 7 16                          ; k.py:7:16
	global_load_dwordx4 v[0:3], v[0:1], off
	buffer_store_short v1, v2, s[0:3], 0 offen
	ds_read2st64_b64 v[0:3], v1
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0
; TotalNumVgprs: 82
; ScratchSize: 16
    .vgpr_spill_count: 3
"""


def test_amd():
    found = amd.parse(AMD)
    assert (found.registers, found.stack_bytes, found.spilled_registers, found.tensor_core) == (82, 16, 3, "mfma")
    got = [(a["space"], a["store"], a["bits"], a["count"], a["path"], a["line"]) for a in found.accesses]
    assert got == [
        ("global", False, 128, 1, "/w/k.py", 7),
        ("global", True, 16, 1, "/w/k.py", 7),
        ("shared", False, 64, 2, "/w/k.py", 7),
    ]


TTGIR = """#loc = loc("/w/k.py":12:0)
#loc35 = loc("v"(#loc10))
#loc41 = loc(callsite(#loc9 at #loc35))
    %v = tt.load %p, %m : tensor<1024x!tt.ptr<f32>, #blocked> loc(#loc35)
    %d = tt.dot %a, %b, %c : tensor<16x16xf16> -> tensor<16x16xf32> loc(#loc41)
    %s = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable> loc(#loc35)
#loc9 = loc("/lib/standard.py":191:40)
#loc10 = loc("/w/k.py":16:19)
"""


def test_ttgir():
    found = ttgir.parse(TTGIR)
    assert found.kernel == ("/w/k.py", 12)
    (move,) = found.moves
    assert (move.place, move.store, move.thread_bits(128)) == (("/w/k.py", 16), False, 256.0)
    assert found.dots == [("/w/k.py", 16)]  # the library's line belongs to its only caller
    assert found.buffers == [(("/w/k.py", 16), 3 * 128 * 64 * 2)]
    assert found.user == {("/lib/standard.py", 191): ("/w/k.py", 16)}


def make_elf(*named: tuple[str, bytes]) -> bytes:
    """A 64-bit ELF file of those sections."""
    every = [("", b""), *named, (".shstrtab", b"")]
    names = b"\0" + b"".join(n.encode() + b"\0" for n, _ in every[1:])
    every[-1] = (".shstrtab", names)
    at, body, table = 64, b"", b""
    for name, content in every:
        where = names.find(name.encode() + b"\0") if name else 0
        table += struct.pack("<IIQQQQIIQQ", where, 1, 0, 0, at + len(body), len(content), 0, 0, 1, 0)
        body += content
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(every), len(every) - 1
    )
    return head + body + table


def test_code_hash_is_of_the_code():
    one = elf.code_hash(make_elf((".text.add", b"code"), (".debug_line", b"1")), 0, 4)
    assert elf.code_hash(make_elf((".text.other", b"code"), (".debug_line", b"22"), (".nv.constant0.other", b"x")), 0, 4) == one
    assert elf.code_hash(make_elf((".text.add", b"edoc"), (".debug_line", b"1")), 0, 4) != one
    assert elf.code_hash(make_elf((".text.add", b"code"), (".nv.constant4", b"k")), 0, 4) != one
    assert elf.code_hash(make_elf((".text.add", b"code"), (".debug_line", b"1")), 0, 8) != one


@given(st.binary(max_size=400))
def test_what_is_no_elf_is_said_so(data):
    for prefix in (b"", b"\x7fELF\x02\x01\x01"):
        with contextlib.suppress(elf.NotElfError):
            list(elf.sections(prefix + data))


@given(st.text(max_size=300), st.integers(0, 400))
def test_readers_survive_anything(noise, cut):
    for reader, known in ((machine_code.parse, SASS), (ptx.accesses, PTX), (amd.parse, AMD), (ttgir.parse, TTGIR), (ptxas.parse, PTXAS)):
        reader(noise)
        reader(known[:cut] + noise + known[cut:])
