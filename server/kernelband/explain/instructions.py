"""Machine instructions by what they do, and access widths by direction, for NVIDIA and AMD code."""

from __future__ import annotations

from collections.abc import Mapping

from kernelband_worker.wire import CompileFacts

#: The first group with a fitting root wins: LDGSTS stands before LDG, REDUX before RED.
_GROUPS: tuple[tuple[str, str], ...] = (
    ("tensor core", "HGMMA QGMMA IGMMA BGMMA HMMA IMMA QMMA OMMA DMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA v_mfma v_smfmac"),
    ("wait or barrier", "BAR WARPSYNC SYNCS WARPGROUP DEPBAR LDGDEPBAR UTCBAR s_barrier s_waitcnt"),
    ("copy global to shared", "LDGSTS UTMALDG UBLKCP"),
    ("global load", "LDG global_load buffer_load flat_load"),
    ("global store", "STG UTMASTG global_store buffer_store flat_store"),
    ("shuffle", "SHFL REDUX ds_bpermute ds_swizzle v_permlane"),
    ("atomic", "ATOM RED global_atomic buffer_atomic ds_atomic"),
    ("shared memory", "LDS STS STSM ds_read ds_write ds_load ds_store"),
    ("spill", "LDL STL scratch_"),
    ("special function", "MUFU v_exp v_log v_rcp v_rsq v_sqrt v_sin v_cos"),
    ("float", "FADD FMUL FFMA FMNMX FSEL FSETP HADD2 HMUL2 HFMA2 HMNMX2 F2F F2FP v_add_f v_mul_f v_fma v_max_f v_min_f v_pk_ v_cvt"),
    ("branch", "BRA BSSY BSYNC EXIT RET CALL s_branch s_cbranch s_endpgm"),
)


def instruction_mix(opcodes: Mapping[str, int]) -> dict[str, int]:
    """Counts of static instructions by group, the largest first; what belongs to none is ``integer and other``."""
    groups = [(name, tuple(roots.split())) for name, roots in _GROUPS]
    out: dict[str, int] = {}
    for opcode, count in opcodes.items():
        group = next((name for name, roots in groups if opcode.startswith(roots)), "integer and other")
        out[group] = out.get(group, 0) + count
    return dict(sorted(out.items(), key=lambda item: -item[1]))


def access_widths(facts: CompileFacts) -> dict[str, str]:
    """Widths of global accesses by direction, the widest first: ``{"loads": "16 B x4", "stores": "16 B x2"}``, static counts."""
    out: dict[str, str] = {}
    for title, store in (("loads", False), ("stores", True)):
        counts: dict[int, int] = {}
        for access in facts["accesses"]:
            if access["space"] == "global" and access["store"] == store:
                counts[access["bits"]] = counts.get(access["bits"], 0) + access["count"]
        if counts:
            out[title] = ", ".join(f"{bits // 8} B x{count}" for bits, count in sorted(counts.items(), reverse=True))
    return out
