"""Random generators of a GPU that isn't there."""

from __future__ import annotations

from typing import Any

import torch

_WORD = 1 << 64


class Generator(torch.Generator):
    """``torch.Generator(device="cuda")`` on the CPU. A subclass: ``isinstance`` goes on working."""

    _there: torch.device

    def __new__(cls, device: Any = "cpu") -> Generator:
        there = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        where = torch.device("cpu") if there.type == "cuda" else there
        made = super().__new__(cls, device=where)  # pyright: ignore[reportCallIssue] - torch's stub declares __init__ only
        made._there = torch.device("cuda", 0) if there.type == "cuda" else there
        return made

    @property
    def device(self) -> torch.device:  # pyright: ignore[reportIncompatibleVariableOverride] - torch's stub makes it an attribute
        return self._there


class DefaultGenerator(Generator):
    """``torch.cuda.default_generators[0]``: programs read and advance its seed and offset for random numbers in their kernels.

    Its state is a GPU's, seed and offset, of 8 bytes each. The same state gives torch's functions the same numbers.
    """

    _seed: int
    _offset: int

    def __new__(cls, device: Any = "cuda") -> DefaultGenerator:
        made = super().__new__(cls, device)
        assert isinstance(made, DefaultGenerator)
        return made.manual_seed(torch.initial_seed())

    def manual_seed(self, seed: int) -> DefaultGenerator:
        self._seed, self._offset = seed % _WORD, 0
        super().manual_seed(self._seed)
        return self

    def seed(self) -> int:
        self._seed, self._offset = super().seed(), 0
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_offset(self) -> int:
        return self._offset

    def set_offset(self, offset: int) -> DefaultGenerator:
        """Where in its sequence it goes on."""
        super().manual_seed((self._seed + offset) % _WORD)
        self._offset = offset
        return self

    def get_state(self) -> torch.Tensor:
        words = [word - _WORD if word >= _WORD // 2 else word for word in (self._seed, self._offset)]
        return torch.tensor(words, dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> DefaultGenerator:
        seed, offset = state.clone().view(torch.int64).tolist()
        self.manual_seed(seed)
        self.set_offset(offset)
        return self
