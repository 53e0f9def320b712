"""``triton.language`` is patched while a launch is interpreted, and is itself again after it."""

from __future__ import annotations

import cProfile
import sys

import torch
import triton.language as tl


def test_what_is_replaced_in_it_counts_from_the_next_launch_on_until_it_is_put_back(program, monkeypatch):
    softmax = program("softmax_tutorial").module.softmax
    x = torch.randn(2, 8, device="cuda")
    before = dict(vars(tl))
    wanted = softmax(x)
    monkeypatch.setattr(tl, "exp", lambda x: x * 0 + 1)
    assert torch.equal(softmax(x), torch.full((2, 8), 0.125))
    monkeypatch.undo()
    for _ in range(2):
        assert torch.equal(softmax(x), wanted)
        assert [name for name, value in vars(tl).items() if before.get(name) is not value] == []


def test_a_program_may_profile_itself(program):
    softmax = program("softmax_tutorial")
    x = torch.rand(4, 8, device="cuda")
    profiler = cProfile.Profile()
    with softmax.observe():
        profiler.enable()
        try:
            y = softmax.module.softmax(x)
            if sys.version_info < (3, 12):  # from there on it has a way of its own, which nobody switches off
                assert sys.getprofile() is profiler, "it goes on after the launch"
        finally:
            profiler.disable()
    assert torch.allclose(y.cpu(), torch.softmax(x.cpu(), 1))
    assert any("softmax" in entry.code.co_name for entry in profiler.getstats() if hasattr(entry.code, "co_name"))


def test_names_imported_from_the_language_are_interpreted(program):
    norm = program("bare_names").module.norm
    for shape in ((2, 5), (3, 8)):
        x = torch.randn(shape, device="cuda")
        wanted = x.cpu() * torch.rsqrt((x.cpu() ** 2).mean(1, keepdim=True))
        for _ in range(2):
            wanted = torch.where(wanted > 0, torch.exp2(wanted * 0.5), 0.0)
        assert torch.allclose(norm(x).cpu(), wanted)


def test_a_helper_may_ask_a_type_for_its_value(program):
    highest = program("asked_types").module.highest
    for dtype in (torch.float32, torch.int32, torch.int8):
        x = torch.randint(-100, -1, (3, 5), device="cuda").to(dtype)
        assert torch.equal(highest(x).cpu(), x.cpu().amax(1)), dtype
