"""What a hover says: figures of rows with how they were got, no ratio beside a prediction, and nothing of the user's text but text."""

from __future__ import annotations

import base64
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kernelband.explain.roofline_picture import BOTTOM, LEFT, RIGHT, TOP, roofline_picture
from kernelband.history import Store, runs, trials
from kernelband.history.records import CaseRow, FinalRow, MeasurementRow, RunRow, VariantRow
from kernelband.history.values import works_to_json
from kernelband.lsp.findings import Finding, Findings
from kernelband.lsp.hover_text import constexpr_hover, kernel_hover, launch_hover
from kernelband.lsp.markdown import as_code, as_text, escaped
from kernelband.lsp.original import Original
from kernelband.search.trial import facts_rows
from tests.unit.hardware.conftest import make_work
from tests.unit.history.rows import run_row, trial_row, variant_row

RUN = "a1b2c3d4"
SCREENED = 7.77
WHEN = 1_750_000_000.0
DAY = time.strftime("%Y-%m-%d", time.localtime(WHEN))  # on the east of the world it is the next one
SVG = "{http://www.w3.org/2000/svg}"


def case(number: int, role: str = "time", **more: Any) -> dict[str, Any]:
    launch = {
        "kernel": {"module": "k", "path": "k.py", "qualname": "kernel"},
        "grid": [4096 * number, 2, 1],
        "num_warps": 4,
        "num_stages": 3,
        "constants": {"BLOCK": 64 * min(number, 2)},
        "config": None,
    }
    return {"id": f"c{number}", "role": role, "arguments": f"x: float32[{number}, 8]", "launches": [launch], "other_kernels": [], **more}


def times(stage: str, case_id: str, device: float, call: float) -> list[MeasurementRow]:
    return [
        MeasurementRow(RUN, 0, stage, 0, case_id, "events", kind, pair, 0, us + pair, us, None, pair == 3)
        for kind, us in (("device", device), ("call", call))
        for pair in range(4)  # the fourth is superseded: it must not count
    ]


def read(
    folder: Path, row: RunRow, cases: list[dict[str, Any]], rows: trials.Rows, name: str = "kernel"
) -> tuple[Finding, Original | None]:
    """The kernel as the server sees it, by way of a database."""
    db = folder / "history.db"
    kept = tuple(CaseRow(RUN, c["id"], i, c["role"], c) for i, c in enumerate(cases))
    with Store.write(db) as store:
        runs.begin(store, row, {row.path: ""})
        trials.write(store, evolve(rows, cases=kept))
    findings = Findings(db)
    try:
        findings.refresh()
        assert findings.problem == ""
        found = findings.find(row.path, name)
        return found, findings.original(found.telling.id) if found.telling is not None else None
    finally:
        findings.close()


def run(mode: str = "measured", **more: Any) -> RunRow:
    environment = {"triton": "3.6.0", "torch": "2.9.0", "gpus": [{"name": "NVIDIA H200"}]}
    return run_row(
        RUN,
        **{"kernel": "kernel", "device": "h200", "mode": mode, "state": "finished", "created": WHEN, "environment": environment, **more},
    )


def original() -> tuple[VariantRow, Any]:
    """The second case has the larger launch."""
    small = make_work(case="c1", registers=40, shared=2048, dram_bytes=4.8e7, moved_bytes=4.8e7, flops=1e7, dot_flops=0)
    large = make_work(case="c2", registers=40, shared=2048, dram_bytes=4.8e8, moved_bytes=4.8e8, flops=1e8, dot_flops=0)
    row = evolve(variant_row(RUN, 0), parent=None, forecast={"launches": works_to_json([small, large])})
    return row, facts_rows(RUN, 0, {large.facts["key"]: large.facts})


def rows(mode: str = "measured") -> trials.Rows:
    first, facts = original()
    tiers = ["likely faster", "unclear", "likely faster", "likely slower"]
    return trials.Rows(
        variants=(
            first,
            *(
                evolve(
                    variant_row(RUN, n),
                    key=f"k{n}",
                    what=f"edit {n}.",
                    forecast={"tier": t, "fact": f"fewer bytes {n}", "score": SCREENED},
                    seconds=0.00777,
                )
                for n, t in enumerate(tiers, 1)
            ),
        ),
        trials=tuple(
            evolve(trial_row(RUN, n), score=SCREENED - n / 100, correctness="passed" if mode == "measured" else "interpreted")
            for n in range(1, 5)
        ),
        finals=tuple(FinalRow(RUN, n, n != 3, 1.71 - n / 10, 1.5, 1.7, {"cases": [{}, {}]}, seconds=1.0) for n in (1, 2, 3))
        if mode == "measured"
        else (),
        facts=facts,
        measurements=(
            *times("baseline", "c1", 50.0, 60.0),
            *times("baseline", "c2", 500.0, 600.0),
            *times("final", "c1", 19.0, 29.0),
            *times("final", "c2", 199.0, 219.0),
        )
        if mode == "measured"
        else (),
    )


CASES = [case(1), case(2), case(3, role="check")]


def test_nothing_known_says_how_to_begin() -> None:
    text = kernel_hover(Finding("/w/my k.py", "scale_kernel"), None)
    assert "`kernelband optimize my k.py::scale_kernel`" in text
    assert "data:" not in text
    assert launch_hover(Finding("/w/k.py", "k"), None) == ""
    assert constexpr_hover(Finding("/w/k.py", "k"), None, "BLOCK") == ""


def test_a_problem_of_the_history_is_said() -> None:
    assert kernel_hover(Finding("/w/k.py", "k"), None, "It is damaged: move it away.").endswith("*It is damaged: move it away.*")


def test_a_measured_kernel(tmp_path: Path) -> None:
    text = kernel_hover(*read(tmp_path, run(), CASES, rows()))
    assert f"**`kernel`**: measured on NVIDIA H200, {DAY}" in text
    assert "It reaches 50 % of that. *(measured)*" in text
    assert f"- device time: 200 µs · measured on NVIDIA H200, {DAY} (events)" in text, "the final's, not the baseline's"
    assert f"- call time: 220 µs · measured on NVIDIA H200, {DAY}" in text
    assert "- roofline: 50 % of 100 µs, memory" in text
    assert "- memory: 2.4 TB/s of 4.8 TB/s" in text
    assert "- arithmetic: 500 GFLOP/s of" in text
    assert re.search(r"- occupancy: \d+ %, limited by [a-z]+ · compiled for NVIDIA H200", text)
    assert "- registers: 40 per thread · compiled for" in text
    assert "- spills: none" in text
    assert "- shared memory: 2.05 kB per program" in text
    assert "The longest of 2 timing cases: `x: float32[2, 8]`." in text
    assert "Run a1b2c3d4, Triton 3.6.0, torch 2.9.0" in text
    assert f"Verified on NVIDIA H200, {DAY}:" in text
    assert "- **1.61× (1.50 to 1.70)** on 2 cases. Variant 1: edit 1." in text
    assert "Variant 3" not in text, "it wasn't verified"
    assert text.index("Variant 1") < text.index("Variant 2")
    assert "7.7" not in text, "screening chose it, so its figure flatters it"
    assert "measured 500 GFLOP/s" in picture(text)


def picture(text: str) -> str:
    found = re.search(r"!\[roofline\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", text)
    assert found is not None
    return base64.b64decode(found[1]).decode()


def test_a_client_that_cant_show_pictures_or_markdown_gets_none(tmp_path: Path) -> None:
    text = kernel_hover(*read(tmp_path, run(), CASES, rows()), pictures=False)
    assert "![" not in text
    assert "data:" not in text
    plain = as_text(text)
    assert plain.startswith(f"kernel: measured on NVIDIA H200, {DAY}\n")
    assert "It reaches 50 % of that. (measured)" in plain
    assert "The longest of 2 timing cases: x: float32[2, 8]." in plain
    assert "- 1.61× (1.50 to 1.70) on 2 cases. Variant 1: edit 1." in plain
    assert not set("`*\\") & set(plain)


def test_without_a_final_the_baseline_speaks(tmp_path: Path) -> None:
    early = rows()
    early = evolve(early, finals=(), measurements=tuple(m for m in early.measurements if m.stage == "baseline"))
    text = kernel_hover(*read(tmp_path, run(state="interrupted", reason="stopped by you"), CASES, early))
    assert "- device time: 501 µs" in text
    assert "interrupted: stopped by you" in text
    assert "Verified" not in text


def test_a_variant_is_told_apart_from_the_original_that_was_looked_at(tmp_path: Path) -> None:
    found, seen = read(tmp_path, run(), CASES, rows())
    assert found.telling is not None
    text = kernel_hover(found, seen, taken=found.telling.variants[0])
    assert "This is variant 1 of run a1b2c3d4: 1.61× on h200." in text
    assert "What follows" not in kernel_hover(found, seen)


def test_text_that_has_changed_has_no_variant(tmp_path: Path) -> None:
    found, seen = read(tmp_path, run(), CASES, rows())
    stale = "scale_kernel in k.py has changed since run a1b2c3d4: verify it again."
    text = kernel_hover(found, seen, stale=stale)
    assert "verify it again" in text
    assert "Verified on" in kernel_hover(found, seen)
    assert not [word for word in ("Verified on", "Variant 1", "1.61×", "edit 1") if word in text]


def test_a_call_of_several_launches_has_no_share_of_the_roofline(tmp_path: Path) -> None:
    text = kernel_hover(*read(tmp_path, run(), [case(1), {**case(2), "other_kernels": ["copy"]}], rows()))
    assert "- device time: 200 µs" in text
    assert "It reaches" not in text
    assert "- roofline:" not in text
    assert "- speed of light: 100 µs, memory · predicted for NVIDIA H200" in text
    assert "measured" not in picture(text)


def test_a_prediction_never_has_a_ratio_or_a_time_beside_a_variant(tmp_path: Path) -> None:
    text = kernel_hover(*read(tmp_path, run("predicted"), CASES, rows("predicted")))
    assert f"**`kernel`**: predicted for h200, {DAY}; nothing is measured" in text
    assert "- speed of light: 100 µs, memory · predicted for" in text
    assert "device time" not in text
    assert "Predicted for h200, not measured:" in text
    variants = [line for line in text.splitlines() if "Variant" in line]
    assert variants == [f"- **likely faster**: fewer bytes {n}. Variant {n}: edit {n}." for n in (1, 3)]
    for line in variants:
        assert not re.search(r"\d ?(x|us|ms|s|%)\b", line)
    assert "7.77" not in text
    assert "measured" not in picture(text)


def test_a_prediction_without_a_bet_says_so(tmp_path: Path) -> None:
    unclear = evolve(rows("predicted"), trials=rows("predicted").trials[1:2])
    text = kernel_hover(*read(tmp_path, run("predicted"), CASES, unclear))
    assert "No variant is likely to be faster." in text
    assert "Variant" not in text
    hopeful = evolve(unclear, variants=tuple(evolve(v, forecast={**v.forecast, "gains": [f"wider {v.id}"]}) for v in unclear.variants))
    text = kernel_hover(*read(tmp_path / "other", run("predicted"), CASES, hopeful))
    assert "No variant is likely to be faster. Worth trying on a GPU:\n\n- Variant 2: edit 2. It has wider 2." in text


def test_an_unknown_gpu_loses_only_what_needs_its_rates(tmp_path: Path) -> None:
    text = kernel_hover(*read(tmp_path, run(device="Acme X1 (rates estimated from NVIDIA H200)"), CASES, rows()))
    assert "- device time: 200 µs" in text
    assert "- registers: 40 per thread · compiled" in text
    assert "- roofline:" not in text
    assert "Rates of Acme X1" in text


def test_launches_and_constexprs_show_what_was_captured(tmp_path: Path) -> None:
    known = read(tmp_path, run(), CASES, rows())
    text = launch_hover(*known)
    assert "- `x: float32[1, 8]`: grid 4096 × 2, 4 warps, 3 stages, constants `BLOCK=64`" in text
    assert text.count("\n- `x") == 3
    block = constexpr_hover(*known, "BLOCK")
    assert "- `BLOCK = 64`: `x: float32[1, 8]`" in block
    assert "- `BLOCK = 128`: `x: float32[2, 8]` and 1 more" in block
    assert constexpr_hover(*known, "OTHER") == ""
    assert "An autotuner chose" not in text


def test_a_run_may_have_seen_no_launch(tmp_path: Path) -> None:
    text = launch_hover(*read(tmp_path, run(), [{**case(1), "launches": []}], rows()))
    assert "recorded no launch" in text
    assert "|" not in text


def test_many_cases_are_cut_with_a_word(tmp_path: Path) -> None:
    many = [case(n) for n in range(1, 13)]
    many[0]["launches"][0] |= {"config": {"num_warps": 4}}
    text = launch_hover(*read(tmp_path, run(), many, rows()))
    assert "4 more aren't shown." in text
    assert "An autotuner chose them." in text


# ---------------------------------------------------------------- other people's words

HOSTILE = (
    "[click](https://evil.example) <img src=x onerror=alert(1)> **b** `c` | a\nb # ![p](http://e.example/p.png) "
    "wWw.evil.example www.evil.example a@b.c \u202e"
)
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def kinds(text: str) -> set[str]:
    found = set[str]()
    for token in READER.parse(text):
        found |= {token.type, *(child.type for child in token.children or ())}
    return found


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    row = run(
        kernel=HOSTILE, device="h200", environment={"triton": HOSTILE, "gpus": [{"name": HOSTILE}]}, state="interrupted", reason=HOSTILE
    )
    cases = [{**case(1), "arguments": HOSTILE}]
    cases[0]["launches"][0] |= {"kernel": {"qualname": HOSTILE}, "constants": {HOSTILE: HOSTILE}}
    found, seen = read(tmp_path, row, cases, evolve(rows(), variants=hostile_variants()), HOSTILE)
    for text in (
        kernel_hover(found, seen, HOSTILE),
        launch_hover(found, seen),
        constexpr_hover(found, seen, HOSTILE),
        kernel_hover(Finding(f"/w/{HOSTILE}", HOSTILE), None),
    ):
        assert text
        assert not kinds(text) & {"link_open", "image", "html_inline", "html_block", "heading_open", "hr"}
        prose = re.sub(r"(`+).*?\1", "", text)  # addresses in code are no links anywhere
        assert not re.search(r"(?i)https?://|www\.|\w@\w|\u202e", prose)


def hostile_variants() -> tuple[VariantRow, ...]:
    first, *rest = rows().variants
    return (first, *(evolve(v, what=HOSTILE, why=HOSTILE) for v in rest))


@given(st.text(alphabet="ab[]()!<>&`*_~|#\\:/.@-\n\r\t\u202e\u2028\ud800 1", max_size=40))
def test_escaped_text_reads_as_itself(text: str) -> None:
    seen = " ".join(text.replace("\u202e", "").replace("\ud800", "").split())
    inline = READER.parseInline(f"x{escaped(text)}x")[0].children or []
    assert {t.type for t in inline} <= {"text", "text_special"}
    assert as_text(f"x{escaped(text)}x").split() == f"x{seen}x".split()
    assert "".join(t.content for t in inline).split() == f"x{seen}x".split()
    code = READER.parseInline(f"x {as_code(text)} x")[0].children or []
    if seen:
        assert [t.type for t in code] == ["text", "code_inline", "text"]
        assert code[1].content.strip() == seen.replace("|", "\u00a6").strip()


# ---------------------------------------------------------------- the picture


@given(
    st.floats(1e-4, 1e5),
    st.one_of(st.none(), st.floats(1e6, 1e16)),
    st.floats(1e11, 1e13),
    st.floats(1e12, 5e15),
)
def test_every_picture_is_small_and_inside_its_frame(intensity: float, achieved: float | None, memory: float, peak: float) -> None:
    svg = roofline_picture(intensity, achieved, bytes_per_s=memory, flops_per_s=peak)
    assert len(svg.encode()) < 4000
    root = ET.fromstring(svg)
    line = root.find(f"{SVG}polyline")
    assert line is not None
    points = [tuple(map(float, p.split(","))) for p in line.get("points", "").split()]
    assert [p[0] for p in points] == sorted(p[0] for p in points)
    assert points[1][1] == points[2][1] <= points[0][1]
    circles = [(float(c.get("cx", "nan")), float(c.get("cy", "nan"))) for c in root.iter(f"{SVG}circle")]
    assert len(circles) == (achieved is not None)
    for x, y in (*points, *circles):
        assert LEFT - 0.1 <= x <= RIGHT + 0.1
        assert TOP - 0.1 <= y <= BOTTOM + 0.1


def test_a_point_on_the_roof_is_drawn_on_the_roof() -> None:
    root = ET.fromstring(roofline_picture(1.0, 4.8e12, bytes_per_s=4.8e12, flops_per_s=6e13))
    circle = root.find(f"{SVG}circle")
    guide = root.findall(f"{SVG}path")[1].get("d", "")
    assert circle is not None
    assert guide.endswith(f"V{circle.get('cy')}")
    assert "measured 4.8 TFLOP/s" in "".join(root.itertext())


@pytest.mark.parametrize("intensity", [0.0, -1.0, float("inf"), float("nan")])
def test_what_has_no_place_on_the_axis_is_refused(intensity: float) -> None:
    with pytest.raises(ValueError, match="no place"):
        roofline_picture(intensity, None, bytes_per_s=1e12, flops_per_s=1e13)
