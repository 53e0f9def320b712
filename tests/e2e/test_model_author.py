"""A model writes the variants: a whole run in predicted mode against a server on this machine."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli_world import Done, Home
from tests.unit.propose.model_server import ModelServer, Says, serving, wait_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "layer_norm.py"
SECRET = "kb-secret-1234567890"
OWNED = Path(tempfile.gettempdir(), f"kb-owned-{secrets.token_hex(8)}")
GUARD = """
import os as _os

_FOUND = [k for k, v in _os.environ.items() if "API_KEY" in k.upper() or "kb-secret" in v]
assert not _FOUND, f"a secret reached the program: {_FOUND}"


def test_layer_norm"""

ONE_PASS = """## Variant: both sums in one walk over the row
Why: the row is read three times, and twice is enough

```python _layer_norm_fwd_kernel
@triton.jit
def _layer_norm_fwd_kernel(
    X, Y, W, B, stride, N, eps,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < N
    x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)
    w = tl.load(W + cols, mask=mask)
    b = tl.load(B + cols, mask=mask)
    tl.store(Y + cols, centred * rstd * w + b, mask=mask)
```

```python layer_norm
def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    y = torch.empty_like(x)
    x_arg = x.reshape(-1, x.shape[-1])
    M, N = x_arg.shape
    BLOCK_SIZE = triton.next_power_of_2(N)
    _layer_norm_fwd_kernel[(M,)](x_arg, y, weight, bias, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE, num_warps=8)
    return y
```

## Variant: forgets the mean
Why: it is wrong, and the check must say so

```python _layer_norm_fwd_kernel
@triton.jit
def _layer_norm_fwd_kernel(X, Y, W, B, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        tl.store(Y + row * stride + cols, tl.load(X + row * stride + cols, mask=cols < N), mask=cols < N)
```

## Variant: reads the disk
Why: it must never run

```python layer_norm
def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    open("OWNED", "w")
    y = torch.empty_like(x)
    _layer_norm_fwd_kernel[(1,)](x, y, weight, bias, x.stride(0), 1, eps, BLOCK_SIZE=16)
    return y
```
""".replace("OWNED", str(OWNED))


class KeyHome(Home):
    """A user with a key in the environment."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "KERNELBAND_API_KEY": SECRET, "NO_PROXY": "127.0.0.1"}


def answer(body: dict[str, Any]) -> Says:
    """The good one once; then nothing new."""
    first = "# Strategy: fusion" in body["messages"][1]["content"] and len(body["messages"]) == 2
    return Says(ONE_PASS if first else "I have nothing.")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Home:
    home = KeyHome(tmp_path_factory.mktemp("model"), worker_python)
    text = EXAMPLE.read_text()
    for before, after in (
        ("((64, 1000, torch.float32), (32, 2048, torch.float16), (8, 5120, torch.float16))", "((6, 300, torch.float16),)"),
        ("((4096, 4096), (4096, 8192))", "((4096, 4096),)"),
        ("\n\ndef test_layer_norm", GUARD),
    ):
        assert before in text
        text = text.replace(before, after)
    (home.work / "norm.py").write_text(text)
    return home


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving(answer) as server:
        yield server


@pytest.fixture(scope="module")
def run(home: Home, server: ModelServer) -> Done:
    done = home.run(
        *("optimize", "norm.py", "--author", "model", "--model", "wise", "--base-url", server.url, "--gpu", "h100"),
        *("--trials", "4", "--seed", "0", "--model-log", "asked.jsonl", "--db", str(home.db), "--python", home.python, "--json"),
    )
    assert done.code == 0, done.err + done.out[-3000:]
    return done


def test_what_the_model_wrote_is_checked_and_bet_on(run: Done) -> None:
    outcomes = {e["what"]: e["outcome"] for e in run.named("trial_ended")}
    assert outcomes["both sums in one walk over the row"] == "likely_faster"
    assert outcomes["forgets the mean"] == "wrong"
    assert run.named("run_ended")[0]["best"] is not None


def test_what_the_gate_refuses_costs_no_trial(run: Done) -> None:
    assert not [e for e in run.named("trial_ended") if "disk" in e["what"]]
    assert not OWNED.exists()
    notes = " ".join(e["text"] for e in run.named("noted"))
    assert re.search(r"A variant of wise for fusion is not used: reads the disk: layer_norm, line 2: it uses open", notes), notes


def test_it_says_once_what_is_sent_and_where(run: Done, server: ModelServer) -> None:
    said = [e["text"] for e in run.named("noted") if e["text"].startswith("Asking the model")]
    assert len(said) == 1
    assert server.url.split("/")[2] in said[0]
    assert "the text of the kernel" in said[0]
    assert any(e["text"].startswith("Asked the model wise:") for e in run.named("noted"))


def test_only_the_functions_are_sent(run: Done, home: Home, server: ModelServer) -> None:
    sent = json.dumps(server.asked)
    assert "_layer_norm_fwd_kernel" in sent
    assert "def layer_norm(" in sent
    assert "test_layer_norm" not in sent
    assert "class LayerNorm" not in sent
    assert str(home.work) not in sent
    assert SECRET not in sent
    assert all(h["authorization"] == f"Bearer {SECRET}" for h in server.headers)


def test_the_key_is_nowhere(run: Done, home: Home) -> None:
    kept = [p for top in (home.work, home.home, home.db.parent) for p in top.rglob("*") if p.is_file()]
    assert home.db in kept
    assert [p for p in kept if SECRET.encode() in p.read_bytes()] == []
    assert SECRET not in run.out + run.err


def test_the_log_is_the_users_own(run: Done, home: Home, server: ModelServer) -> None:
    log = home.work / "asked.jsonl"
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o600
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["sent"] for line in lines] == [body["messages"] for body in server.asked]


def test_its_author_is_kept(run: Done, home: Home) -> None:
    import sqlite3

    with sqlite3.connect(home.db) as db:
        rows = db.execute("select author, numerics from variants where id > 0").fetchall()
    assert rows
    assert set(rows) == {("model wise", "reassociates")}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "There is no key for api.openai.com: set KERNELBAND_API_KEY"),
        (("--base-url", "nonsense"), "is not an address"),
        (("--base-url", "https://me:pw@host/v1"), "must hold no user, password or query"),
        (("--model-dollars", "1"), "needs the price"),
        (("--author", "nobody"), "There is no author 'nobody'"),
    ],
)
def test_nothing_starts_without_a_key_or_with_a_wrong_address(tmp_path: Path, home: Home, more: tuple[str, ...], words: str) -> None:
    keyless = Home(tmp_path, home.python)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        done = keyless.run("optimize", "scale.py", "--author", "model", "--model", "wise", "--db", str(keyless.db), *more)
    assert (done.code, words in done.sentence) == (2, True), done.err


def test_a_server_that_refuses_the_key_ends_the_run_with_a_sentence(home: Home) -> None:
    with serving(lambda _: Says(status=401, error=f"Incorrect API key provided: {SECRET}")) as server:
        limits = ("--trials", "2", "--db", str(home.db), "--python", home.python)
        done = home.run("optimize", "scale.py", "--author", "model", "--model", "wise", "--base-url", server.url, *limits)
    assert done.code == 8, done.err
    assert re.search(r"The model wrote nothing: .* refuses the key \(401", done.sentence)
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in done.out + done.err
    assert "Traceback" not in done.err


def test_with_both_the_rewriter_goes_on_where_the_model_fails(home: Home) -> None:
    with serving(lambda _: Says(status=500, error="out of order")) as server:
        limits = ("--trials", "2", "--gpu", "h100", "--db", str(home.db), "--python", home.python, "--json")
        done = home.run("optimize", "norm.py", "--author", "both", "--model", "wise", "--base-url", server.url, *limits)
    assert done.code == 0, done.err
    notes = " ".join(e["text"] for e in done.named("noted"))
    assert "is no longer asked: The model server" in notes
    assert "The run goes on with the rewriter." in notes
    assert done.named("trial_ended")


def test_ctrl_c_doesnt_wait_for_an_answer(home: Home) -> None:
    with serving(lambda _: Says("late", stall_s=300)) as server:
        common = ("--trials", "3", "--gpu", "h100", "--db", str(home.db), "--python", home.python, "--json")
        process = home.popen("optimize", "scale.py", "--author", "model", "--model", "wise", "--base-url", server.url, *common)
        try:
            assert wait_for(lambda: bool(server.asked), 200)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=500)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["state"] == "interrupted"
