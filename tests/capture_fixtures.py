"""What capture must give for each fixture, on any device: one line per launch path and trap (tests/e2e and tests/gpu share it)."""

from __future__ import annotations

from attrs import frozen


@frozen
class Expect:
    """A fixture: its kernel, its entry, and either what is captured or words of the refusal."""

    module: str
    kernel: str
    entry: str = ""  # as --entry; empty: found
    function: str = ""  # where the cases start
    boundary: str = "host_call"
    outputs: tuple[str, ...] = ("return",)
    launches: tuple[str, ...] = ()  # kernels of the first case, in order
    policies: tuple[tuple[str, str], ...] = ()  # data policy by tensor
    mutated: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()  # output -> whose memory
    reads_rng: bool = False
    refused: str = ""  # words of the sentence
    note: str = ""  # words of a note
    distinct: int = 1
    neighbours: tuple[str, ...] = ()  # which are made, where it matters


FIXTURES: dict[str, Expect] = {
    "function": Expect("plain_function", "scale_kernel", function="scale", policies=(("x", "rederived"),), distinct=2),
    "whole blocks": Expect("whole_blocks", "double_kernel", function="double", neighbours=("half", "not contiguous")),
    "method": Expect(
        "module_method", "bias_relu_kernel", function="BiasRelu.forward", policies=(("self.bias", "rederived"), ("self.calls", "recorded"))
    ),
    "static method": Expect("static_method", "row_sum_kernel", function="Ops.row_sum"),
    "closure": Expect("closure", "add_scaled_kernel", function="make_adder.<locals>.add"),
    "autograd forward": Expect(
        "autograd", "swish_fwd_kernel", function="Swish.forward", outputs=("return", "ctx.saved_tensors[1]"), launches=("swish_fwd_kernel",)
    ),
    "autograd backward": Expect(
        "autograd", "swish_bwd_kernel", function="Swish.backward", policies=(("dy", "rederived"), ("ctx.saved_tensors[1]", "rederived"))
    ),
    "autotuned": Expect("autotuned", "square_kernel", function="square"),
    "heuristics": Expect("heuristics", "negate_kernel", function="negate", distinct=2),
    "warmup and device properties": Expect("warmup_launch", "softmax_kernel", function="softmax", launches=("softmax_kernel",)),
    "two kernels": Expect("two_kernels", "subtract_kernel", function="shift_rows", launches=("row_max_kernel", "subtract_kernel")),
    "launcher in another file": Expect("kernels_only", "clamp_kernel", entry="launcher_only.py::test_clamp", function="clamp"),
    "relative imports": Expect("package/ops/kernels", "gate_kernel", entry="package/test_gate.py::test_gated", function="gated"),
    "in place and views": Expect(
        "in_place",
        "rotate_kernel",
        function="rotate_",
        outputs=("return", "q (mutated)", "k (mutated)", "out (mutated)"),
        mutated=("q", "k", "out"),
        aliases=(("return", "out"), ("k (mutated)", "q")),
    ),
    "atomics": Expect("atomics", "column_sum_kernel", function="column_sum"),
    "index table": Expect("index_table", "gather_kernel", function="gather", policies=(("pages", "rederived"), ("table", "recorded"))),
    "bare launch": Expect(
        "bare_launch", "double_kernel", function="double_kernel", boundary="launch", outputs=("y_ptr (mutated)",), mutated=("y_ptr",)
    ),
    "random": Expect("random_original", "dropout_kernel", function="dropout", reads_rng=True),
    "state in the module": Expect(
        "stateful",
        "shift_kernel",
        function="shift_kernel",
        boundary="launch",
        outputs=("y_ptr (mutated)",),
        mutated=("y_ptr",),
        note="_calls of stateful",
    ),
    "state in self": Expect("stateful_module", "shift_kernel", function="Shift.forward"),
    "opaque argument": Expect("opaque", "half_kernel", function="halve", note="_thread.lock"),
    "torch.compile": Expect("compiled", "triple_kernel", refused="torch.compile"),
    "pytest with fixtures": Expect("parametrized", "increment_kernel", function="increment", distinct=2),
    "script": Expect("script", "exp_kernel", entry="script.py::__main__", function="run_exp"),
    "perf_report": Expect("perf_report", "copy_kernel", entry="perf_report.py::benchmark", function="copy", distinct=3),
    "never launches": Expect(
        "never", "forgotten_kernel", entry="never.py::test_fill", refused="never launches forgotten_kernel: it launched used_kernel"
    ),
    "entry fails": Expect("never", "forgotten_kernel", entry="never.py::test_broken", refused="ValueError: the test data is missing"),
}
