"""``triton.language`` is patched while a launch is interpreted, and is itself again after it."""

from __future__ import annotations

import cProfile
import sys

import torch
import triton.language as tl

from kernelband_worker.cpu.builder import Builder
from kernelband_worker.cpu.language import Language


def test_each_time_as_the_first_and_what_was_replaced_in_between_counts(monkeypatch):
    language = Language(Builder())
    exp, names = tl.exp, dict(vars(tl.core))
    for _ in range(2):
        with language.patched():
            assert tl.exp is not exp
        assert tl.exp is exp
        assert dict(vars(tl.core)) == names
    called = []

    @tl.core.builtin
    def mine(x, _semantic=None):
        called.append(_semantic)
        return x

    monkeypatch.setattr(tl, "exp", mine)
    for _ in range(2):
        with language.patched():
            assert tl.exp(3) == 3
        assert tl.exp is mine
    assert None not in called
    monkeypatch.undo()
    with language.patched():
        assert tl.exp is not exp
    assert tl.exp is exp


def test_a_program_may_profile_itself(program):
    softmax = program("softmax_tutorial")
    x = torch.rand(4, 8, device="cuda")
    profiler = cProfile.Profile()
    with softmax.observe():
        profiler.enable()
        try:
            y = softmax.module.softmax(x)
            assert sys.getprofile() in (profiler, None)  # none from Python 3.12 on, where it has a way of its own
        finally:
            profiler.disable()
    assert torch.allclose(y.cpu(), torch.softmax(x.cpu(), 1))
    assert any("softmax" in entry.code.co_name for entry in profiler.getstats() if hasattr(entry.code, "co_name"))
