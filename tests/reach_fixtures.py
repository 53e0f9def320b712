"""What must come of each small program of tests/fixtures/reach, one line each: captured where, or refused in which words."""

from __future__ import annotations

from attrs import frozen


@frozen
class Reach:
    """A kernel of a program, and either what is captured of it or words of the refusal.

    ``at``: where its cases start. ``boundary``: "launch" only where a test launches the kernel by itself, so that no function is around it.
    """

    at: str = ""
    entry: str = ""  # that is chosen; empty: test_ and whatever follows
    outputs: tuple[str, ...] = ("return",)
    mutated: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()  # where there are others than the kernel, in order
    distinct: int = 1  # kinds of calls
    boundary: str = "host_call"
    note: str = ""  # words of a note
    refused: str = ""  # words of the sentence


ENTRIES: dict[str, Reach] = {
    "apply_wrapper.py::_softsign_fwd": Reach("softsign_forward", distinct=2),
    "apply_alias.py::cap_kernel": Reach("_Cap.forward"),
    "reexported/rowwise/ops/scaling.py::scale_rows_kernel": Reach("scale_rows"),
    "layer_forward/functions.py::shifted_relu_kernel": Reach("shifted_relu"),
    "op_registry/elementwise.py::_reciprocal": Reach("_"),
    "strict_registry/activation.py::mul_and_relu_kernel": Reach("MulAndRelu.forward_cuda"),
    "table_of_ops.py::cube_kernel": Reach("cube", entry="test_all_unary"),
    "library_define.py::negate_kernel": Reach("_negate_cuda"),
    "triton_op.py::lerp_kernel": Reach("lerp"),
    "custom_op.py::outer_add_kernel": Reach("outer_add"),
    "registered_op/serving/gate.py::silu_gate_kernel": Reach("_silu_gate", outputs=("out (mutated)",), mutated=("out",), distinct=2),
    "pytest_forms/hinge.py::hinge_kernel": Reach("hinge", entry="TestHinge::test_against_torch", distinct=2),
    "unittest_case.py::average_kernel": Reach("average", entry="AverageTest::test_sizes", distinct=2),
    "main_only.py::triangle_kernel": Reach("triangle", entry="__main__", note="so main_only.py is run as a script"),
    "argparse_script.py::ramp_kernel": Reach("ramp", entry="__main__", note="so argparse_script.py is run as a script"),
    "beside/fastbias/bias.py::add_bias_kernel": Reach("add_bias", entry="__main__", distinct=2, note="measure_bias.py is run as a script"),
    "perf_report_only.py::square_kernel": Reach("square", entry="run", distinct=3),
    "do_bench_only.py::clip_kernel": Reach("clip", entry="benchmark_clip", distinct=2),
    "tutorial.py::add_kernel": Reach("add", entry="benchmark", distinct=4),
}
KERNELS: dict[str, Reach] = {
    "jit_of_function.py::_halve": Reach("halve"),
    "jit_with_options.py::weigh": Reach("descend"),
    "factory_kept.py::activated_kernel": Reach("Activated.__call__", distinct=2),
    "lib_entry/ops.py::isclose_kernel": Reach("isclose", distinct=2),
    "own_tuner.py::offset_kernel": Reach("offset", distinct=2),
    "tuned_cache/decay.py::decay_fwd_kernel": Reach("decay", distinct=2),
    "heuristics_over_autotune.py::row_mean_kernel": Reach("row_mean", distinct=2),
    "shared_helper.py::leaky_kernel": Reach("leaky_relu"),
    "shared_helper.py::leaky_gate_kernel": Reach("leaky_gate"),
    "shared_helper.py::leaky": Reach(
        refused="No code was found that launches leaky: leaky_kernel (shared_helper.py), leaky_gate_kernel (shared_helper.py) call it"
    ),
    "generated_only.py": Reach(refused="holds no @triton.jit kernel of its own: it generates one while it runs (line 10)"),
    "generated_from_jit/ops.py::plus_one": Reach(
        refused="plus_one_elements.py (launched in pointwise.__call__ of {home}/pointwise.py), and only kernels in source files"
    ),
    "copied_kernel/ops.py::_mish_kernel": Reach(
        refused="launched another _mish_kernel, that of {home}/test_mish.py (line 8), and not that of {home}/ops.py"
    ),
    "copied_kernel/test_mish.py::_mish_kernel": Reach("_mish_kernel", outputs=("y_ptr (mutated)",), mutated=("y_ptr",), boundary="launch"),
    "lone_copy/ops.py::_floor_kernel": Reach(
        refused="runs _floor_kernel of {home}/ops.py; {home}/test_floor.py (line 7) has another one of that name"
    ),
}
BOUNDARIES: dict[str, Reach] = {
    "returns_out.py::add_kernel": Reach("add_into", mutated=("out",)),
    "in_place.py::relu_kernel": Reach("relu_", mutated=("x",)),
    "in_place.py::decay_kernel": Reach("decay_", outputs=("x (mutated)",), mutated=("x",)),
    "out_or_made.py::sub_kernel": Reach("sub", distinct=2),
    "tuple_outputs.py::quantise_kernel": Reach("quantise", outputs=("return[0]", "return[1]")),
    "dict_outputs.py::extremes_kernel": Reach("extremes", outputs=("return['low']", "return['high']")),
    "dataclass_outputs.py::l2norm_kernel": Reach("l2norm", outputs=("return.hidden", "return.rstd")),
    "forward_backward.py::_squared_relu_fwd": Reach("SquaredReLU.forward"),
    "forward_backward.py::_squared_relu_bwd": Reach("SquaredReLU.backward"),
    "parameters.py::rms_kernel": Reach("RMSNorm.forward"),
    "closure.py::polynomial_kernel": Reach("make_polynomial.<locals>.evaluate"),
    "class_methods.py::max_kernel": Reach("Maximum.of_two"),
    "class_methods.py::floor_kernel": Reach("Maximum.with_floor"),
    "nested_hosts.py::axpy_kernel": Reach("axpy"),
    "strided_views.py::glu_kernel": Reach("glu", distinct=2),
    "index_table.py::gather_pages_kernel": Reach("gather_pages"),
    "none_pointer.py::scale_bias_kernel": Reach("scale_bias", distinct=2),
    "dtype_constexpr.py::cast_scale_kernel": Reach("cast_scale", distinct=2),
    "grid_lambda.py::tile_copy_kernel": Reach("transpose"),
    "keyword_launch.py::mix_kernel": Reach("mix"),
    "run_method.py::sign_kernel": Reach("sign"),
    "warmup_then_launch.py::centre_kernel": Reach("centre"),
    "two_kernels.py::row_sum_kernel": Reach("share", launches=("row_sum_kernel", "divide_kernel")),
    "two_kernels.py::divide_kernel": Reach("share", launches=("row_sum_kernel", "divide_kernel")),
    "partial_writes.py::pack_kernel": Reach("double_prefix"),
    "atomic_histogram.py::count_kernel": Reach("count"),
    "seeded_random.py::dropout_kernel": Reach("dropout", distinct=2),
    "device_context.py::ceil_to_kernel": Reach("ceil_to"),
    "streams_events.py::scale_kernel": Reach("scale_aside"),
    "custom_fwd.py::shift_kernel": Reach("ShiftAutoGrad.forward"),
    "compiled_helper.py::rescale_kernel": Reach("rescale"),
    "input_guard.py::cumsum_kernel": Reach("cumsum"),
    "contiguous_copies.py::dot_rows_kernel": Reach("dot_rows"),
    "capability_branch.py::gelu_kernel": Reach("gelu"),
    "no_grad.py::ema_kernel": Reach("update_ema", outputs=("shadow (mutated)",), mutated=("shadow",)),
    "cached_settings/log_softmax.py::_log_softmax": Reach("fast_log_softmax"),
    "block_scaled_matmul.py::block_scaled_matmul_kernel": Reach("block_scaled_matmul"),
    "split_k_reduce.py::_fwd_split": Reach("SplitDecode.apply", launches=("_fwd_split", "_join_splits")),
    "split_k_reduce.py::_join_splits": Reach("SplitDecode.apply", launches=("_fwd_split", "_join_splits")),
    "persistent_matmul.py::persistent_matmul_kernel": Reach("matmul_persistent"),
}
REFUSALS: dict[str, Reach] = {
    "several_processes.py::shard_kernel": Reach(refused="The entry test_double_shard works with several processes"),
    "needs_torchrun.py::shift_rank_kernel": Reach(refused="The entry test_shift_by_rank works with several processes"),
    "missing_module.py::tanh_kernel": Reach(refused="line 6): ModuleNotFoundError: No module named 'reach_absent_library'"),
    "failing_assert.py::copy_kernel": Reach(refused="line 22): AssertionError: the size must be a multiple of 128"),
    "never_launched.py::large_kernel": Reach(refused="never launches large_kernel: it launched small_kernel (1 times)"),
    "gluon_only.py": Reach(refused="has Gluon kernels only"),
}
PROGRAMS = {**ENTRIES, **KERNELS, **BOUNDARIES, **REFUSALS}
