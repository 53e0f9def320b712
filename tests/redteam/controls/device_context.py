"""Launches under the device of its input and without gradients."""

BASE = "layer_norm"
WHY = "Context managers around the launch, modes of torch among them."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    (
        "    layer_norm_kernel[(n_rows,)](x, y, weight, bias, n_cols, eps, BLOCK=triton.next_power_of_2(n_cols))\n",
        """\
    with torch.no_grad(), torch.cuda.device(x.device):
        layer_norm_kernel[(n_rows,)](x, y, weight, bias, n_cols, eps, BLOCK=triton.next_power_of_2(n_cols))
""",
    ),
]
