"""While an entry is captured or is a proof, only tuners of kernels that go into no recording may take a guess."""

from __future__ import annotations

import pytest

from kernelband_worker.cases import capture as capturing
from kernelband_worker.cases import entry as entries

OTHERS = """
import torch
import triton
import triton.language as tl


@triton.jit
def other_kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1)


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def scale(x):
    y = torch.empty_like(x)
    other_kernel[(1,)](x)
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y


def test_scale():
    x = torch.rand(100, device="cuda")
    other_kernel[(1,)](x)
    scale(x)
    scale_kernel[(1,)](x, x, 64, BLOCK=64)
"""


@pytest.fixture
def asked(monkeypatch):
    """Each launch's kernel, and whether it may guess."""
    observed, asked = capturing.observe, []

    def observe(state, handler, *, guessed, **options):
        def heard(event):
            asked.append((event.function["qualname"], guessed(event.function)))
            handler(event)

        return observed(state, heard, guessed=guessed, **options)

    monkeypatch.setattr(capturing, "observe", observe)
    monkeypatch.setattr(entries, "observe", observe)
    return asked


def test_only_tuners_of_what_is_not_recorded_may_guess(make, asked):
    make({"others.py": OTHERS}).capture("others", "scale_kernel", ["scale"], "test_scale", neighbours=False)
    assert asked[:4] == [("other_kernel", True), ("other_kernel", False), ("scale_kernel", False), ("scale_kernel", False)]


@pytest.mark.parametrize(("proven", "guesses"), [({"kernels": ["others:scale_kernel"]}, True), ({}, False)])
def test_where_an_entry_is_a_proof_only_what_is_proven_is_tuned(make, asked, proven, guesses):
    assert make({"others.py": OTHERS}).run_entry("others", "test_scale", **proven)["ok"]
    assert asked == [("other_kernel", guesses)] * 2 + [("scale_kernel", False)] * 2


def test_what_a_variant_adds_is_tuned_in_its_proof(make, asked):
    run = make({"others.py": OTHERS})
    edited = run.variant("renamed", ("others", "other_kernel", "another_kernel"))
    assert run.run_entry("others", "test_scale", variant=edited, kernels=["others:scale_kernel"])["ok"]
    assert asked == [("another_kernel", False)] * 2 + [("scale_kernel", False)] * 2
