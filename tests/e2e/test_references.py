"""What checks run for a float64 reference is known and compiled ahead of them."""

from __future__ import annotations

from pathlib import Path

from kernelband.hardware import find_device
from tests.e2e.test_inspect import EXAMPLES, Bench


def test_the_original_on_float64_compiles_ahead(worker_python: str) -> None:
    bench = Bench(worker_python, EXAMPLES / "fused_softmax.py", "softmax_kernel", "test_softmax")
    try:
        cases = [c["id"] for c in bench.captured["cases"] if c["replayable"]]
        plain, double = (
            bench.pool.submit({"variant": None, "cases": cases, "double": d}, operation="specialise", deadline_s=200).result(300)[
                "launches"
            ]
            for d in (False, True)
        )
        assert [x["case"] for x in double] == [x["case"] for x in plain] == cases
        assert [x["constants"] for x in double] == [x["constants"] for x in plain]
        assert [x["grid"] for x in double] == [x["grid"] for x in plain]
        kinds = [{k for k in x["signature"].values() if k.startswith("*")} for x in (plain[0], double[0])]
        assert kinds == [{"*fp32"}, {"*fp64"}]
        target = find_device("h100").target
        facts = bench.pool.submit({"variant": None, "launch": double[0], "target": target, "instructions": False}).result(90)
        assert facts["registers"]
    finally:
        bench.close()


def test_who_refuses_float64_has_no_reference(worker_python: str, tmp_path: Path) -> None:
    path = tmp_path / "picky.py"
    text = (EXAMPLES / "fused_softmax.py").read_text()
    head = "    n_rows, n_cols = x.shape\n"
    assert head in text
    path.write_text(text.replace(head, f"    assert x.dtype == torch.float32\n{head}"))
    bench = Bench(worker_python, path, "softmax_kernel", "test_softmax")
    try:
        cases = [c["id"] for c in bench.captured["cases"] if c["replayable"]]
        assert cases
        found = bench.pool.submit({"variant": None, "cases": cases, "double": True}, operation="specialise", deadline_s=200).result(300)
        assert found["launches"] == []
    finally:
        bench.close()
