"""Launches on a real GPU: seen, run, suppressed.

Run with the worker's Python: PYTHONPATH=server python -m pytest -s tests/gpu/test_launches.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a real GPU: torch finds none here"),
]

from kernelband_worker.launches import observe  # noqa: E402
from kernelband_worker.loader import Loader  # noqa: E402
from kernelband_worker.state import State  # noqa: E402
from tests.unit_worker.launches.programs import FILES, KERNELS  # noqa: E402
from tests.unit_worker.served import Served  # noqa: E402

PROGRAMS = Path(__file__).parents[1] / "unit_worker" / "cpu" / "programs"


class Session:
    def __init__(self):
        files = {
            f"{name}.py": (PROGRAMS / f"{name}.py").read_text() for name in ("softmax_tutorial", "layernorm_tutorial", "matmul_tutorial")
        }
        self.served = Served({**FILES, **files})
        self.state = State("gpu", self.served.ask, lambda method, params: None)
        self.loader = self.state.loader = Loader(self.served.ask, self.served.session())
        self.loader.install()
        self.events = []

    @property
    def launcher(self):
        return self.loader.original("lw.launcher")

    def observe(self, **options):
        return observe(self.state, self.events.append, **options)


@pytest.fixture
def session():
    made = Session()
    yield made
    made.loader.uninstall()


def test_launches_run_and_are_seen(session):
    x = torch.arange(1000.0, device="cuda")
    with session.observe():
        out = session.launcher.launch(x, 1.5)
        compiled = session.launcher.launch_compiled(x)
        listed = session.launcher.launch_list(x)
    assert torch.equal(out, x * 2 + 1.5)
    assert torch.equal(compiled, x * 2 + 1)
    assert torch.equal(listed, x * 2)
    assert [event.grid for event in session.events] == [(8, 1, 1), (4, 1, 1), (16, 1, 1)]
    assert [event.options["num_warps"] for event in session.events] == [4, 8, 4]
    assert all(event.traffic is None for event in session.events)


def test_suppressed_launches_write_nothing(session):
    x = torch.ones(1000, device="cuda")
    with session.observe(suppress=True):
        session.launcher.launch_run(x)
        session.launcher.launch_compiled(x)
        session.launcher.launch_tuned(x)
    torch.cuda.synchronize()
    assert torch.equal(x, torch.ones(1000, device="cuda"))
    assert [event.config and event.config["BLOCK"] for event in session.events] == [None, None, 64]


def test_keys_are_the_same_suppressed_and_launched(session):
    x = torch.ones(1024, device="cuda")
    for suppress in (True, False):
        with session.observe(suppress=suppress):
            session.launcher.launch(x)
            session.launcher.launch_compiled(x)
    first, second, third, fourth = (event.specialization["key"] for event in session.events)
    assert (first, second) == (third, fourth)


def test_the_autotuner_times_unseen(session):
    x = torch.ones(100_000, device="cuda")
    with session.observe():
        out = session.launcher.launch_tuned(x)
    assert torch.equal(out, x)
    (event,) = session.events
    assert event.config["BLOCK"] in (64, 128)


def test_a_variant_runs_its_own_kernel_through_the_unedited_launcher(session):
    session.loader.register(session.served.variant("d" * 64, lw__kernels=KERNELS.replace("x * N", "x + N")))
    launch = session.loader.resolve("d" * 64, session.served.function("lw.launcher", "launch"))
    x = torch.arange(1000.0, device="cuda")
    assert torch.equal(launch(x, 0.0), x + 2)
    assert torch.equal(session.launcher.launch(x, 0.0), x * 2)


def test_tutorials_with_their_own_asserts(session):
    with session.observe():
        session.loader.original("softmax_tutorial").test_softmax()
        session.loader.original("layernorm_tutorial").test_layer_norm()
        session.loader.original("matmul_tutorial").test_matmul(torch.float16, "leaky_relu")
    names = [event.function["qualname"] for event in session.events]
    assert names == ["softmax_kernel", "_layer_norm_fwd_fused", "_layer_norm_bwd_dx_fused", "_layer_norm_bwd_dwdb", "matmul_kernel"]
    # The backward pass launches from a thread of autograd's: the stack begins there.
    assert session.events[2].frames[0]["qualname"] == "LayerNorm.backward"
