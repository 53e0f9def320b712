"""The gate: what a kernel needs passes; every way out that we could think of doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.propose.model.edits import to_patch
from kernelband.propose.model.functions import editables
from kernelband.propose.model.rules import Refused
from kernelband.source import Workspace, find_kernels, find_program
from kernelband.source.model import Patch, Program
from tests.unit.propose.gate_world import PLAIN, with_lines

TEXT = """import os
import math
import torch
import triton
import triton.language as tl
import torch.nn.functional as F

CACHE = {}


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def copy(x, scale=2):
    y = torch.empty_like(x)
    n = x.numel()
    k[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""
LAUNCH = "k[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return program_of(TEXT, tmp_path_factory.mktemp("gate"))


def program_of(text: str, folder: Path, kernel: str = "k") -> Program:
    path = folder / "m.py"
    path.write_bytes(text.encode())
    return find_program(Workspace.for_file(str(path), {}), str(path), kernel)


def host(body: str, parameters: str = "x, scale=2", before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{before}def copy({parameters}):\n    n = x.numel()\n    y = torch.empty_like(x)\n    {LAUNCH}\n{lines}    return y\n"


def kernel(body: str, decorators: str = "@triton.jit", parameters: str = "x, y, n, BLOCK: tl.constexpr") -> str:
    return f"{decorators}\ndef k({parameters}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def refusal(program: Program, label: str, text: str) -> str:
    with pytest.raises(Refused) as refused:
        to_patch(program, {label: text})
    return str(refused.value)


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "m = max(1, min(n, 4))",
        'grid = lambda META: (triton.cdiv(n, META["BLOCK"]),)',
        "def grid(meta):\n    return (math.ceil(n / 2),)",
        "z = [a for a in range(3)]",
        'assert n > 0, f"{n} is too small"',
        'if n == 0:\n    raise ValueError("empty")',
        "props = torch.cuda.get_device_properties(x.device).multi_processor_count",
        "with torch.cuda.device(x.device):\n    pass",
        "y[0] = 0",
        "for CACHE in [1]: pass",  # a variable of its own
    ],
)
def test_what_host_functions_need(program: Program, body: str) -> None:
    assert to_patch(program, {"copy": host(body)}).files


@pytest.mark.parametrize(
    "text",
    [
        kernel("for j in tl.range(0, 4, num_stages=2):\n    a = tl.load(x + j, eviction_policy='evict_first').to(tl.float32)"),
        kernel("pass", decorators='@triton.jit(do_not_specialize=["n"])'),
        kernel("i = tl.math.exp2(1.0)\nj = tl.float32.primitive_bitwidth"),
        kernel("pass", parameters="x, y, n, BLOCK: tl.constexpr, WIDE: tl.constexpr = 4"),
    ],
)
def test_what_kernels_need(program: Program, text: str) -> None:
    assert to_patch(program, {"k": text}).files


OUT = [
    *('open("/x")', "import os", "from os import system", 'eval("1")', 'exec("1")', 'getattr(x, "y")', "x.__class__", "vars()"),
    *("globals()",),
    *("().__class__.__bases__", 'os.system("x")', 'torch.save(y, "f")', 'torch.load("f")', "F.layer_norm(x, (3,))", "t = torch", "os"),
    *("t = torch\nt.save(1)", "(torch if n else 0).save(1)", "[torch][0].save(1)", 'CACHE["a"] = y', "CACHE.update(a=y)", "copy.memo = y"),
    *("k.cache = 1", "global CACHE", "def g():\n    nonlocal y\n    y = 1", "class A: pass", 'lambda a=open("f"): a', 'f"{open(1)}"'),
    *('f"{x.__class__}"', '"{0.__class__}".format(x)', '[open for open in [1]]; open("f")', "[(lambda: open)() for z in [1]]", "yield 1"),
    *("async def g(): pass", "try:\n    pass\nexcept Exception:\n    pass", 'with open("f") as f:\n    pass', "del y", "x.data_ptr()"),
    *("x._version", "print(1)", 'type("A", (), {})', "triton.set_allocator(1)", 'triton.language.core.os.system("x")', "tl.core"),
    *("torch.ops.aten.add(x, x)", "torch.cuda.Stream()", "torch.set_default_dtype(torch.float16)", "x.share_memory_()"),
    *("\uff4f\uff50\uff45\uff4e('f')", 'x.__dict__["a"]', "math.__loader__", "@open\ndef g():\n    pass", "match n:\n    case 1: pass"),
    *("torch.matmul(x, x)", 'a = b = c = __import__("os")', "x.numel.__globals__", "copy = 1", "triton.runtime.driver.active", "k.fn"),
    *('(lambda f: f("x"))(open)', "{**globals()}", "x.map_(y, open)", "torch.Tensor.apply_", "torch.finfo.__init__", "k.run.__func__"),
    *('k[(1,)](x, y, n, BLOCK=64, ir_override="/x")', 'k[(1,)](x, y, n, **{"ir_override": "/x"})', "breakpoint()", "input()"),
    *('setattr(x, "a", 1)', 'delattr(x, "a")', 'memoryview(b"")', 'torch.utils.cpp_extension.load("x")', "triton.compile(k)"),
    *("for x.a in [1]: pass", '[0 for CACHE["a"] in [1]]', "x.a: int = 1", "torch.cuda.synchronize()", '(n := open)("x")'),
    *("torch.empty.__self__", '1 if open("f") else 2', 'assert open("f")', "raise SystemExit", 'os.environ["A"]', "x.register_hook(print)"),
    *("x.untyped_storage()", "x.requires_grad_()", "torch.manual_seed(0)", "k = 1", "await x"),
    *("_ = [y async for y in x]", "x = '" + "a" * 500 + "'"),
]  # fmt: skip


@pytest.mark.parametrize("body", OUT)
def test_no_way_out_of_a_host_function(program: Program, body: str) -> None:
    assert refusal(program, "copy", host(body))


@pytest.mark.parametrize(
    "body",
    [
        'tl.inline_asm_elementwise("x", "=r", [], tl.int32, True, 1)',
        *(
            'tl.device_print("x")',
            'tl.static_print("x")',
            'os.system("x")',
            'open("x")',
            "x.a = 1",
            'print("x")',
            "tl.core.os",
            "torch.save(1)",
        ),
        *(
            "with x: pass",
            "raise ValueError",
            "import os",
            "math.inf.__class__",
            "x.element_ty.__init__",
            "tl.load.__globals__",
            "tl.load.fn",
        ),
        *('CACHE["a"]', "tl.extra.cuda.libdevice.core", "lambda: open"),
    ],
)
def test_no_way_out_of_a_kernel(program: Program, body: str) -> None:
    assert refusal(program, "k", kernel(body))


@pytest.mark.parametrize(
    "decorators",
    [
        *(
            "@open\n@triton.jit",
            "@triton.jit(launch_metadata=open)",
            "@triton.autotune(configs=[], key=[])\n@triton.jit",
            "",
            "@torch.compile",
        ),
        *("@triton.jit\n@triton.jit", "@triton.jit(pre_run=lambda: 1)", '@(open("x") or triton.jit)', "@(z := triton.jit)"),
        *('@triton.heuristics({"A": lambda a: 1})\n@triton.jit', '@triton.jit(do_not_specialize=open("f"))'),
    ],
)
def test_a_kernel_keeps_its_decorators(program: Program, decorators: str) -> None:
    assert refusal(program, "k", kernel("pass", decorators=decorators))


@pytest.mark.parametrize("parameters", ['x, y, n=open("f")', 'x: open("f")', "x: (open)", "x=[].append(1)"])
def test_parameters_of_a_kernel_run_nothing(program: Program, parameters: str) -> None:
    assert refusal(program, "k", kernel("pass", parameters=parameters))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (host("pass", parameters='x, scale=open("f")'), "keeps its parameters"),
        (host("pass", parameters="x, scale=3"), "keeps its parameters"),
        (host("pass").replace("scale=2)", 'scale=2) -> open("f")'), "keeps its parameters"),
        (host("pass", before="import os\n"), "that function and nothing else"),
        (host("pass", before="A = 1\n"), "that function and nothing else"),
        (host("pass") + '\nopen("f")\n', "that function and nothing else"),
        (host("pass", before="@open\n"), "keeps its decorators"),
        (host("pass").replace(LAUNCH, "pass"), "no longer launches k"),
        ("def other(x): pass", "keeps its name"),
        ("def copy(x, scale=2): return x", "no longer launches k"),
        ("", "nothing else"),
        ("async " + host("pass"), "nothing else"),
        (host("z = 1" + "0" * 40), "64 bits"),
        ("\0" + host("pass"), "control characters"),
        (host("pass").replace("x.numel()", "x.numel("), "isn't valid Python: line"),
        ("(" * 2000 + ")" * 2000, "isn't valid Python"),
        ("#" * 70_000, "at most 60000"),
    ],
    ids=range(17),
)
def test_the_function_itself(program: Program, text: str, words: str) -> None:
    assert words in refusal(program, "copy", text)


def test_nothing_of_a_variant_is_taken_when_a_part_is_refused(program: Program) -> None:
    with pytest.raises(Refused):
        to_patch(program, {"k": kernel("pass"), "copy": host('open("f")')})


def test_what_the_original_writes_into_may_be_written_in_another_way(tmp_path: Path) -> None:
    own = PLAIN.replace("    n = x.numel()\n", "    n = x.numel()\n    x[:1] = 0\n")
    assert to_patch(program_of(own, tmp_path), {"copy": with_lines(PLAIN, "copy", after="x.view(-1)[:1].zero_()")}).files
    with pytest.raises(Refused):
        to_patch(program_of(PLAIN, tmp_path), {"copy": with_lines(PLAIN, "copy", after="x.view(-1)[:1].zero_()")})


def test_a_line_is_named_as_the_model_counts_it(program: Program) -> None:
    assert refusal(program, "copy", host('open("f")')).startswith("copy, line 5: it uses open")


METHOD = """import triton
import triton.language as tl


@triton.jit
def k(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


class Layer:
    # stays\r
    def run_it(self, x):
        k[(1,)](x, 3, B=16)
        return x

    def other(self): return 1
"""


def test_a_method_is_put_where_it_stood_with_the_files_line_ends(tmp_path: Path) -> None:
    text = METHOD.replace("\r", "").replace("\n", "\r\n")
    program = program_of(text, tmp_path)
    path = program.kernel.place.path
    for written in ('def run_it(self, x):\n    s = """a\n  b"""\n    k[(1,)](x, 3, B=32)\n    return x\n',):
        after = to_patch(program, {"Layer.run_it": written}).apply(program.texts)[path]
        assert (
            '    def run_it(self, x):\r\n        s = """a\r\n  b"""\r\n        k[(1,)](x, 3, B=32)\r\n        return x\r\n\r\n    def other'
            in after
        )
        assert after.split("    def run_it")[0] == text.split("    def run_it")[0]


def test_every_example_passes_unchanged() -> None:
    """The lists hold what people write: a function that is given back with a comment more is let through."""
    count = 0
    for path in sorted((Path(__file__).parents[3] / "examples").glob("*.py")):
        workspace = Workspace.for_file(str(path), {})
        for found in find_kernels(str(path), workspace.read(str(path))):
            try:
                program = find_program(workspace, str(path), found.place.qualname)
            except SourceError:
                continue
            for e in editables(program):
                text = program.texts[e.place.path][e.span.start : e.span.end]
                patch = to_patch(
                    program, {e.label: f"{text}\n    # as before\n    pass\n" if e.place.qualname.count(".") == 0 else text + "  # c"}
                )
                assert isinstance(patch, Patch)
                count += 1
    assert count >= 8


WORDS = "open x torch tl k ( ) [ ] . __class__ save = : lambda for in if else 1 , { } @ def g import os return := await * ** not ; #"
PIECES = st.sampled_from([*WORDS.split(), "\n    ", '"f"', "f'{", "}'", "\\\n"])
SPACED = st.lists(PIECES, max_size=14).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(body=SPACED)
def test_whatever_is_written_is_let_through_or_refused_and_never_reaches_out(program: Program, body: str) -> None:
    import ast

    try:
        patch = to_patch(program, {"copy": host(body)})
    except Refused:
        return
    (after,) = patch.apply(program.texts).values()
    function = next(n for n in ast.parse(after).body if isinstance(n, ast.FunctionDef) and n.name == "copy")
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)} | {
        f.name for f in ast.walk(function) if isinstance(f, ast.FunctionDef)
    }
    assert not {"open", "os"} & (names - bound)
    assert "__class__" not in {n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)}
    assert not any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.walk(function))


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=200))
def test_any_text_is_only_ever_refused(program: Program, text: str) -> None:
    with pytest.raises(Refused):
        to_patch(program, {"copy": text})
