"""Logs each shape that it sees, at a level that nobody listens to."""

BASE = "softmax"
WHY = "An effect beside the result: a line for a logger."
ROLES = ("verify", "finalist")
NEEDS_GPU = False
EDITS = [
    ("import torch\n", "import logging\n\nimport torch\n"),
    (
        "    n_rows, n_cols = x.shape\n",
        '    n_rows, n_cols = x.shape\n    logging.getLogger(__name__).debug("softmax of %d rows", n_rows)\n',
    ),
]
