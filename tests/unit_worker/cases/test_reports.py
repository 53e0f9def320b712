"""Which sizes of a perf_report are run for its calls."""

from __future__ import annotations

from types import SimpleNamespace

from kernelband_worker.reports import run_report, smallest, spread


def sizes(x_vals, x_names, choose):
    called = []
    bench = SimpleNamespace(x_vals=x_vals, x_names=x_names, line_vals=["a", "b"], line_arg="line", args={"more": 1})
    run_report(SimpleNamespace(benchmarks=bench, fn=lambda **given: called.append(given)), choose)
    assert {(given["line"], given["more"]) for given in called} == {("a", 1), ("b", 1)}
    return [tuple(given[name] for name in x_names) for given in called if given["line"] == "a"]


def test_without_a_gpu_the_smallest_and_with_one_the_largest_too():
    down = [2**i for i in range(12, 4, -1)]
    assert sizes(down, ["n"], smallest) == [(32,), (64,), (128,)]
    assert sizes(down, ["n"], spread) == [(32,), (512,), (4096,)]
    assert sizes([(4, 100), (8, 8), (2, 2), (1, 1)], ["m", "n"], smallest) == [(1, 1), (2, 2), (8, 8)]
    assert sizes([7, 3], ["m", "n"], spread) == [(3, 3), (7, 7)]
    flags = [(4096, False, 0.0), (64, True, 0.5), (8192, False, 0.0), (128, True, 0.0)]
    assert sizes(flags, ["n", "causal", "dropout"], smallest) == [flags[1], flags[3], flags[0]]
