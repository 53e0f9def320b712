"""An entry that works with several processes: what it launches itself counts, what others would launch can't be recorded."""

from __future__ import annotations

import pytest

from kernelband_worker.errors import OperationFailed

HEAD = "import torch\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\n"
ITSELF = "    scale(torch.randn(100, device='cuda'))\n"
SPAWNS = "    mp.spawn(print, nprocs=2)\n"
JOINS = "    dist.init_process_group('gloo', init_method='tcp://127.0.0.1:9', rank=0, world_size=2)\n"
ASKS = "    dist.init_process_group('gloo')\n"


def program(make, *body):
    text = make().served.files["plain_function.py"]
    return make({"several.py": f"{HEAD}{text}\ndef test_several():\n{''.join(body)}"})


@pytest.mark.parametrize("body", [SPAWNS, JOINS, ASKS], ids=["spawns", "joins", "asks who it is"])
def test_one_that_only_waits_for_others_is_refused(make, monkeypatch, body):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OperationFailed, match="test_several works with several processes, and launches in another process can't be"):
        program(make, body, ITSELF).capture("several", "scale_kernel", ["scale"], "test_several")


def test_what_it_launched_before_is_used(make):
    run = program(make, ITSELF, SPAWNS, "    raise AssertionError('never got here')\n")
    cases = run.capture("several", "scale_kernel", ["scale"], "test_several", input_sets=1)
    assert [c["function"]["qualname"] for c in cases if c["neighbour_of"] is None] == ["scale"]


ALONE = "    dist.init_process_group('gloo', init_method='file://{}/group', rank=0, world_size=1)\n"
LEAVES = "    dist.destroy_process_group()\n"


def test_a_group_of_one_is_none(make, tmp_path):
    run = program(make, ALONE.format(tmp_path), ITSELF, LEAVES)
    assert run.capture("several", "scale_kernel", ["scale"], "test_several", input_sets=1)[0]["replayable"]


def test_an_error_in_a_group_of_one_is_the_programs_own(make, tmp_path):
    run = program(make, ALONE.format(tmp_path), LEAVES, "    raise ValueError('mine')\n")
    with pytest.raises(OperationFailed, match=r"The entry test_several fails .*ValueError: mine"):
        run.capture("several", "scale_kernel", ["scale"], "test_several")
