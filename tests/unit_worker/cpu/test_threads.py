"""Launches of more than one thread, in one interpreter."""

from __future__ import annotations

import threading

import pytest
import torch

from kernelband_worker.errors import OperationFailed

N, BLOCK = 4096, 64


def launch_add(program):
    x, out = torch.rand(N, device="cuda"), torch.empty(N, device="cuda")
    arguments = {"x_ptr": x, "y_ptr": x, "out_ptr": out, "n": N, "BLOCK": BLOCK}

    def launch():
        program.machine.launch(program.module.add, arguments, (N // BLOCK, 1, 1), 0)
        return torch.equal(out, x + x)

    return launch


def test_a_launch_waits_for_another_threads(program):
    mixed = program("mixed")
    here, there = launch_add(mixed), launch_add(mixed)
    right = []
    started = threading.Event()

    def work():
        started.set()
        right.extend(there() for _ in range(5))

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    assert all(here() for _ in range(5))
    thread.join()
    assert right == [True] * 5


def test_a_launch_inside_a_kernel_is_refused_and_the_next_one_works(program, monkeypatch):
    mixed = program("mixed")
    launch = launch_add(mixed)
    monkeypatch.setattr(mixed.machine._language, "body", lambda kernel: lambda **arguments: launch())
    with pytest.raises(OperationFailed, match="launched from inside another kernel"):
        launch()
    monkeypatch.undo()
    assert launch()
