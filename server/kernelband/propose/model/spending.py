"""What was asked of a model so far, against its caps."""

from __future__ import annotations

from typing import Any

from attrs import define

from kernelband.propose.model.settings import ModelSettings

CHARACTERS_A_TOKEN = 3.0  # fewer than in any text that is sent: an estimate before a call, and after one that doesn't say
LEAST_ANSWER = 1_000  # tokens; with fewer left an answer would be cut off


@define
class Spending:
    """Calls, tokens and dollars of a run."""

    settings: ModelSettings
    calls: int = 0
    read: int = 0
    written: int = 0
    estimated: bool = False  # some server didn't say how many tokens it was

    @property
    def tokens(self) -> int:
        return self.read + self.written

    @property
    def dollars(self) -> float | None:
        """None without a price."""
        return None if self.settings.price is None else self._price(self.read, self.written)

    def allowance(self, characters: int) -> tuple[int, str]:
        """Tokens that the answer to a prompt of so many characters may have; 0 with the reason where the caps allow none."""
        s = self.settings
        prompt = round(characters / CHARACTERS_A_TOKEN)
        if self.calls >= s.calls:
            return 0, f"its {s.calls} calls are used up (--model-calls)"
        tokens = min(s.answer_tokens, s.tokens - self.tokens - prompt)
        if tokens < min(LEAST_ANSWER, s.answer_tokens):
            return 0, f"its {s.tokens} tokens are used up (--model-tokens)"
        if s.dollars is not None and s.price is not None:
            left = s.dollars - self._price(self.read + prompt, self.written)
            if s.price[1] > 0:
                tokens = min(tokens, int(left * 1e6 / s.price[1]))
            if left <= 0 or tokens < min(LEAST_ANSWER, s.answer_tokens):
                return 0, f"its {s.dollars:g} dollars are used up (--model-dollars)"
        return tokens, ""

    def count(self, read: int | None, written: int | None, characters: tuple[int, int]) -> None:
        """A call that was made; tokens None where the server didn't say: then estimated from the characters sent and got."""
        self.calls += 1
        self.estimated |= read is None or written is None
        self.read += read if read is not None else round(characters[0] / CHARACTERS_A_TOKEN)
        self.written += written if written is not None else round(characters[1] / CHARACTERS_A_TOKEN)

    def text(self) -> str:
        """For people."""
        about = "about " if self.estimated else ""
        cost = f", {self.dollars:.2f} dollars" if self.dollars is not None else ""
        return f"{self.calls} call{'s' if self.calls != 1 else ''}, {about}{self.tokens} tokens{cost}"

    def to_json(self) -> dict[str, Any]:
        """For the run's row."""
        text = f"{self.settings.name}: {self.text()}"
        return {"calls": self.calls, "read": self.read, "written": self.written, "dollars": self.dollars, "text": text}

    def _price(self, read: int, written: int) -> float:
        price = self.settings.price or (0.0, 0.0)
        return (read * price[0] + written * price[1]) / 1e6
