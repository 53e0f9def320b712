"""FlagGems' kernels at sizes of everyday tensors. Inputs only: each function calls the project's operators as its users do."""

import torch
from flag_gems import ops

FAST = torch.cuda.is_available()
DEVICE = "cuda"
ROWS, COLUMNS = (4096, 4096) if FAST else (32, 128)


def values(*shape, dtype=torch.float16):
    return torch.randn(shape, device=DEVICE, dtype=dtype)


def matrix():
    return values(ROWS, COLUMNS)


def product():
    return ops.mm(values(ROWS // 2, COLUMNS), values(COLUMNS, ROWS // 2))


def product_and_bias():
    return ops.addmm(values(ROWS // 2), values(ROWS // 2, COLUMNS), values(COLUMNS, ROWS // 2))


def batched_product():
    return ops.bmm(values(16, ROWS // 4, COLUMNS // 8), values(16, COLUMNS // 8, ROWS // 4))


def matrix_by_vector():
    return ops.mv(matrix(), values(COLUMNS))


def inner_product():
    return ops.dot(values(ROWS * 1024), values(ROWS * 1024))


def softmax():
    return ops.softmax(matrix(), -1)


def softmax_of_columns():
    return ops.softmax(values(16, ROWS // 4, COLUMNS // 16), 1)


def log_softmax():
    return ops.log_softmax(matrix(), -1)


def layer_norm():
    return ops.layer_norm(matrix(), (COLUMNS,), values(COLUMNS), values(COLUMNS))


def group_norm():
    channels, places = (256, 64 * 64) if FAST else (32, 64)
    return ops.group_norm(values(16, channels, places), values(channels), values(channels), 16, channels, places, 32)


def sum_of_columns():
    return ops.sum_dim(matrix(), [0])


def maximum_of_rows():
    return ops.max_dim(matrix(), 1)


def argmax_of_rows():
    return ops.argmax(matrix(), 1)


def mean_of_columns():
    return ops.mean_dim(matrix(), [0])


def variance_of_rows():
    return ops.var_mean(matrix(), [1])


def running_sum():
    return ops.cumsum(values(ROWS // 4, COLUMNS, dtype=torch.float32), 1)


def triangle():
    return ops.triu(matrix())


def embedding():
    return ops.embedding(values(ROWS * 8, COLUMNS // 4), torch.randint(ROWS * 8, (ROWS,), device=DEVICE))


def weight_norm():
    return ops.weight_norm_interface(matrix(), values(ROWS, 1), 0)


def pooling():
    side = 64 if FAST else 8
    return ops.max_pool2d_with_indices(values(16, 64, side, side), 3, 2, 1)


def upsampling():
    side = 64 if FAST else 8
    return ops.upsample_nearest2d(values(4, 64, side, side), (side * 2, side * 2))
