"""The variant to look at first, of a run that has not come to its end."""

from __future__ import annotations

from kernelband.history.store import Store

_SCREENED = (
    "SELECT variant FROM trials WHERE run = ? AND fault = 'none' AND correctness = 'passed' AND integrity = 'ok' "
    "AND performance = 'faster' ORDER BY score DESC, number LIMIT 1"
)
_INTERPRETED = (
    "SELECT t.variant FROM trials t JOIN variants v ON v.run = t.run AND v.id = t.variant WHERE t.run = ? AND t.fault = 'none' "
    "AND t.correctness = 'interpreted' AND json_extract(v.forecast, '$.tier') = 'likely faster' ORDER BY t.score DESC, t.number LIMIT 1"
)


def best_so_far(store: Store, run: str, mode: str) -> int | None:
    """Measured: what screening liked most of those that passed its check, verified or not. Predicted: the likeliest. None: the original.

    Raises:
        HistoryError: the database can't be read.
    """
    rows = store.rows(_INTERPRETED if mode == "predicted" else _SCREENED, [run])
    return int(rows[0]["variant"]) if rows else None
