"""One defence of the table, and where it stands."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[3]
JUDGE, WORKER, GATE = "kernelband/judge", "kernelband_worker", "kernelband/propose/model"


@frozen
class Defence:
    """``file`` is below server/. ``test``: a test as pytest names it; of several of that name one must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str

    @property
    def text(self) -> str:
        """The file without the defence.

        Raises:
            ValueError: its text isn't there, or is there more than once.
        """
        text = (ROOT / "server" / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.old!r} stands {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


def within(file: str, tests: str, *rows: tuple[str, str, str, str]) -> tuple[Defence, ...]:
    """Rows of name, old text, new text and test."""
    return tuple(Defence(name, file, old, new, f"{tests}::{test}") for name, old, new, test in rows)
