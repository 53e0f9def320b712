"""The arms of a run as its policy last saw them: what was pulled, what came of it, what is masked and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from kernelband.history.records import ArmRow


def render(rows: Sequence[ArmRow], *, measured: bool) -> Table:
    """A line for each arm, cluster by cluster; clusters are named only where there are several. Rewards only of what was measured."""
    several = len({r.cluster for r in rows}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    if several:
        table.add_column("cluster", justify="right")
    table.add_column("strategy")
    table.add_column("pulls", justify="right")
    if measured:
        table.add_column("mean reward", justify="right")
    table.add_column("weight", justify="right")
    table.add_column("why")
    for r in sorted(rows, key=lambda r: r.cluster):  # a stable sort: strategies stay in the policy's order
        weight = "masked" if r.weight == 0 else f"{r.weight:.2f}"
        cells = [r.strategy, str(r.pulls), *([f"{r.mean_reward:.2f}"] if measured else []), weight, escape(r.why)]
        table.add_row(*([str(r.cluster)] if several else []), *cells)
    return table
