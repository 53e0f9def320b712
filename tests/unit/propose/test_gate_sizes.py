"""Nothing is made for single sizes: equality with what is written down is refused, however it is put."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.source.model import Program
from tests.unit.propose.gate_world import KEEPER, PLAIN, kernel, kind_of, program_of, with_lines

HOST = [
    "if n // int('4096') == 1: pass",
    "z = (n ^ 4096) * 2",
    "z = 0 ** (n // 4096 - 1)",
    "d = {}\nd[4096] = 8",
    "z = {4096: 8}",
    "z = {c: 1 for c in (64, 128)}",
    "if math.sqrt(n) <= 64: pass",
    "if 2 ** n > 4096 and 2 ** n < 8192: pass",
    "if n == 4096: pass",
    "if x.shape == (1024, 512): pass",
    "if n in (4096, 8192): pass",
    "z = {4096: 8}.get(n, 4)",
    "z = {4096: 8}[n]",
    "if n - 4096 == 0: pass",
    "if not (n - 4096): pass",
    "if n ^ 4096: pass",
    "if n // 4096 == 1 and n % 4096 == 0: pass",
    "if abs(n - 4096) < 1: pass",
    "c = 4096\nif n == c: pass",
    "if 4096 <= n <= 4096: pass",
    "if n <= 4096 and n >= 4096: pass",
    "if 4095 < n < 4097: pass",
    "if n <= 4096:\n    if n > 4095: pass",
    "for c in (4096, 8192):\n    if n == c: pass",
    "z = [c for c in (4096,) if c == n]",
    "z = any(n == c for c in (4096,))",
    "z = list(filter(lambda c: c == n, (4096,)))",
    "if str(n) == '4096': pass",
    "if f'{n}' == '4096': pass",
    "if '%d' % n == '4096': pass",
    "if n is 4096: pass",
    "if len({n, 4096}) == 1: pass",
    "if {n} & {4096}: pass",
    "if n in range(4096, 4097): pass",
    "z = (4, 8)[n == 4096]",
    "z = 0 ** abs(n - 4096)",
    "if n == 2 ** 12: pass",
    "if n == 1 << 12: pass",
    "if math.isclose(n, 4096): pass",
    "if math.gcd(n, 4096) == 4096 and n < 8000: pass",
    "for _ in range(n - 4095):\n    for _ in range(4097 - n): pass",
    "d = {}\nd[4096] = 8\nz = d.get(n, 4)",
    "d = {c: 8 for c in (4096,)}\nz = d.get(n)",
    "d = dict([(4096, 8)])",
    "if min(n, 4096) == max(n, 4096): pass",
    "if torch.Size([1024, 512]) == x.shape: pass",
    "while n == 4096: break",
    "if (n, 1) == (4096, 1): pass",
    "if n == 4096.0: pass",
    "if bool(n - 4096): pass",
    "z = n - 4096 or 3",
    "z = [4096, 8192].index(n)",
    "if n <= 4096 and n % 4096 == 0: pass",
    "if n % 4096 == 0 and n % 4095 == 0: pass",
    "if n & ~4096 == 0: pass",
    "if (n * 7) % 28672 == 0 and n < 5000: pass",
    "a = 2\na *= 2\na *= 2\na *= 512\nif n == a: pass",
    "if n <= 512:\n    pass\nelif n <= 1024:\n    pass\nelif n <= 2048:\n    pass\nelif n <= 4096:\n    pass",
    "m = n\nif n <= 4096 and m >= 4096: pass",
    "z = max(0, 1 - abs(n - 4096))",
    "if n == 8 * 8 * 64: pass",
    "if n // 64 == 64: pass",
    "if triton.cdiv(n, 64) == 64: pass",
    "if n >> 12 == 1: pass",
    "z = {n: 8}.get(4096, 4)",
    "if x.numel() == 4096: pass",
    "if len(x) == 64: pass",
    "if max(n, 4096) < 4097 and min(n, 4096) > 4095: pass",
    "if n != 4096: pass",
    "z = n == 4096",
    "if scale == 4096: pass",
    "if 4096 == n: pass",
    "if not n != 4096: pass",
    "if (n, 2) in ((4096, 2),): pass",
    "z = n == 4096 or n == 8192",
    "assert n == 4096",
    "z = 8 if n == 4096 else 4",
    "if divmod(n, 4096) == (1, 0): pass",
    "q, r = divmod(n, 4096)\nif q == 1 and r == 0: pass",
    "if n % 8192 == 4096: pass",
    "if int(n / 4096) * 4096 == n: pass",
    "if round(n / 4096, 3) == 1: pass",
    "if n * n == 16777216: pass",
    "if -n == -4096: pass",
    "if n / 4096 == 1: pass",
    "if math.log2(n) == 12: pass",
    "if n.bit_length() == 13 and n % 4096 == 0: pass",
    "if (n & (n - 1)) == 0 and n.bit_length() == 13: pass",
    "if len(str(n)) == 3: pass",
    "if x.shape[0] * x.shape[1] == 4096: pass",
    "if sum(x.shape) == 4096: pass",
    "if tuple(x.shape) == (64, 64): pass",
    "if list(x.shape) == [64, 64]: pass",
    "if x.shape[1:] == (4096,): pass",
    "sizes = (4096,)\nif n in sizes: pass",
    "if set((n,)) == {4096}: pass",
    "if [n] == [4096]: pass",
    "if all(a == b for a, b in zip(x.shape, (64, 64))): pass",
    "if max(n, 4096) == n and min(n, 4096) == n: pass",
    "if n <= 4096 <= n: pass",
    "if n >= 2**12 and n <= 2**12: pass",
    "if (n > 4095) * (n < 4097): pass",
    "if (n > 4095) + (n < 4097) == 2: pass",
    "if not (n < 4096 or n > 4096): pass",
    "if n < 4096:\n    pass\nelif n > 4096:\n    pass\nelse:\n    pass",
    "z = (n > 4095) & (n < 4097)",
    "for i in range(n, n + 1):\n    if i == 4096: pass",
    "if x.view(-1).shape == (4096,): pass",
    "if x.stride(0) == 4096: pass",
    "if x.nbytes == 16384: pass",
    "if x.size() == (64, 64): pass",
    "if (lambda a: a == 4096)(n): pass",
    "f = lambda a, b=4096: a == b\nif f(n): pass",
    "def f(a):\n    return a - 4096\nif not f(n): pass",
    "if n == scale * 2048: pass",
    "if any(map(lambda s: s == 4096, x.shape)): pass",
    "t = [0] * 4096 + [1]\nif n < 5000 and t[n]: pass",
    "if n == 0x1000: pass",
    "if n == int('4096'): pass",
    "if n == len('xxxxxxx'): pass",
    "if n == (3 + 3) * (3 + 3): pass",
    "if n - 3 == 1: pass",
    "z = num = 8 if n == 4096 else 4",
    "if n == 4_096: pass",
    "if n == True * 4096: pass",
    "if n == 2 * 2 * 2: pass",
    "if n == 4: pass",
    "if (d := n - 4096) == 0: pass",
    "if not (d := n - 4096): pass",
    "d = n\nd -= 4096\nif not d: pass",
    "d = n\nd -= 4096\nif d == 0: pass",
    "d = n\nd ^= 4096\nif d: pass",
    "if not [i for i in range(abs(n - 4096))]: pass",
    "z = [1][n - 4096:]",
    "z = [8][:n // 4096]",
    "if max(n, 4096) // min(n, 4096) == 1 and n % 4096 == 0: pass",
    "if triton.cdiv(max(n, 4096), min(n, 4096)) == 1: pass",
    "b = min(n, 4096)\nc = max(n, 4096)\nif triton.cdiv(n, b) == 1 and n // c == 1: pass",
    "b = max(n, 4096)\nc = min(n, 4096)\nif b <= c: pass",
    "if n <= 4096 and n % 2048 == 0 and n > 2048: pass",
    "if n % 4096 < 1 and n < 8000: pass",
    "z = n % 4096 or 3\nif n < 8000: pass",
    "if not n % 4096 and n < 5000: pass",
    "if n > 4000 and n < 5000: pass",
    "if str(x.shape) == 'a': pass",
    "z = f'{x.shape}'",
    "if n == sum([4000, 96]): pass",
    "if n == max(1, 4096): pass",
    "if n == math.floor(4096.5): pass",
    "if 4096 - n == 0: pass",
    "if n == triton.next_power_of_2(4095): pass",
    "if triton.next_power_of_2(n) == 4096: pass",
    "if math.sqrt(n) == 3 * 3: pass",
    "if n == y.numel() * 0 + 4096: pass",
    "for c in range(4096, 4097):\n    if c == n: pass",
    "i = 0\nwhile i < n:\n    i += 4096\nif i == n and n < 5000: pass",
    "if torch.empty(4096).shape == x.shape: pass",
    "if torch.empty(4096).numel() == n: pass",
    "if x.new_empty(64).shape == x.shape: pass",
    "e = torch.empty((64, 64))\nif e.shape == x.shape: pass",
    "if torch.empty(4096).stride() == x.stride(): pass",
    "if x.shape.numel() == 4096: pass",
    "if (n // 4096) * (4096 // n) == 1: pass",
    "if len([4096] * 2 * n) == 3: pass",
    "if 4096 // n == 1 and n // 4096 == 1: pass",
    "if math.prod(x.shape) == 4096: pass",
    "if (n - 1) % 4096 == 4095: pass",
    "if [8][n != 4096:]: pass",
    "if [8][n - 4096 :]: pass",
    "if n - 2048 == 2048: pass",
    "if 2 * n - n == 4096: pass",
    "if n in {4096: 1}: pass",
    "z = dict(zip((4096,), (8,))).get(n, 4)",
    "if (n,) < (4097,) and (n,) > (4095,): pass",
    "if [n] <= [4096] and [n] >= [4096]: pass",
    "if '%s' % n == '4096': pass",
    "if (n).bit_length() > 12 and n < 5000: pass",
    "if min((n, 4096)) == max((n, 4096)): pass",
    "if set(x.shape) <= {64}: pass",
]
KERNELS = [
    "if n == 4096:\n    return",
    "z = tl.where(n == 4096, 1, 2)",
    "tl.static_assert(n == 4096)",
    "if BLOCK == 4096:\n    return",
    "if n == BLOCK:\n    return",
    "m = n\nif m == BLOCK:\n    return",
    "if n - 4096 == 0:\n    return",
    "if not (n - 4096):\n    return",
    "if tl.num_programs(0) == 64:\n    return",
    "if tl.cdiv(n, BLOCK) == 64:\n    return",
    "C: tl.constexpr = 4096\nif n == C:\n    return",
    "if (n >= 4096) & (n <= 4096):\n    return",
    "for _ in range(n - 4095):\n    for _ in range(4097 - n):\n        return",
    "z = tl.max(tl.where(i < n, i, 0)) == 4095",
    "z = tl.full((1,), n, tl.int32) == 4096",
    "z = tl.minimum(n, 4096) == tl.maximum(n, 4096)",
    "z = tl.abs(n - 4096) < 1",
    "if n ^ 4096:\n    pass",
    "for j in tl.static_range(4096, 4097):\n    if j == n:\n        return",
    "if n % 4096 == 0 and n // 4096 == 1:\n    return",
    "z = tl.exp2(n * 1.0) == 4096.0",
    "z = (n == 4096).to(tl.int32)",
    "if tl.sum((i < n).to(tl.int32)) == 4096:\n    return",
    "z = tl.zeros((1,), tl.int32) + n == 4096",
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    return {text: program_of(text, tmp_path_factory.mktemp("sizes")) for text in (PLAIN, KEEPER)}


@pytest.mark.parametrize("lines", HOST)
def test_a_host_function_has_no_case_for_one_size(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=lines)) == "sizes"


@pytest.mark.parametrize("lines", KERNELS)
def test_a_kernel_has_no_case_for_one_size(programs: dict[str, Program], lines: str) -> None:
    assert kind_of(programs[PLAIN], "k", kernel(lines)) == "sizes"


@pytest.mark.parametrize(
    ("condition", "kind"),
    [("n % args['BLOCK'] == 0", ""), ("args['n'] == 4096", "sizes"), ("args['n'] - 4096 == 0", "sizes"), ("args['n'] <= 4096", "")],
)
def test_a_heuristic_is_part_of_the_kernel(tmp_path: Path, condition: str, kind: str) -> None:
    head = '@triton.heuristics({{"EVEN": lambda args: {}}})\n'
    parameters = "x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr"
    text = PLAIN.replace("@triton.jit", head.format("args['n'] > 8") + "@triton.jit").replace("x, y, n, BLOCK: tl.constexpr", parameters)
    new = head.format(condition.replace("n %", "args['n'] %")) + kernel("pass", parameters)
    assert kind_of(program_of(text, tmp_path), "k", new) == kind


def test_what_the_original_asks_stays_as_long_as_it_means_the_same(programs: dict[str, Program]) -> None:
    """The keeper's own function refuses 7 and 4096."""
    assert kind_of(programs[KEEPER], "copy", with_lines(KEEPER, "copy", after="half = n // 2")) == ""
    assert kind_of(programs[KEEPER], "copy", with_lines(KEEPER, "copy", instead=("(7, 4096)", "(7, 4097)"))) == "sizes"
    assert kind_of(programs[KEEPER], "copy", with_lines(KEEPER, "copy", before="n = 4096 - x.numel()")) == "sizes"


@pytest.mark.parametrize("last", ["if a{} < 4096: pass", "a0 = a{}\nif a0 == 3: pass"])
def test_a_tangle_is_refused_soon(programs: dict[str, Program], last: str) -> None:
    """Each step doubles the ways to the size; following them all would take for ever."""
    steps = "\n".join(["a0 = n", *(f"a{i + 1} = a{i} + a{i} + 5" for i in range(60)), last.format(60)])
    before = time.process_time()
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=steps)) == "sizes"
    assert time.process_time() - before < 5


@settings(max_examples=60, deadline=None)
@given(size=st.integers(4, 1 << 20), form=st.sampled_from(["n == {}", "n != {}", "{} == n", "n in ({},)", "not n - {}", "n - {} == 0"]))
def test_any_number_is_refused(programs: dict[str, Program], size: int, form: str) -> None:
    assert kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=f"z = {form.format(size)}")) == "sizes"


@settings(max_examples=60, deadline=None)
@given(low=st.integers(8, 1 << 20), width=st.floats(0, 2))
def test_two_thresholds_are_a_window_where_they_are_close(programs: dict[str, Program], low: int, width: float) -> None:
    high = int(low * (1 + width))
    refused = kind_of(programs[PLAIN], "copy", with_lines(PLAIN, "copy", after=f"z = {low} <= n <= {high}")) == "sizes"
    assert refused == ((high + 0.5) / (low - 0.5) < 1.5)
