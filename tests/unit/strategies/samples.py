"""Programs and facts for the moves: the examples, and small texts, with the facts that a capture of them would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelband.hardware import Device
from kernelband.source import Workspace, find_program
from kernelband.source.model import Program
from kernelband.strategies import STRATEGIES, Facts, Proposal
from tests import captured_examples

EXAMPLES = Path(__file__).parents[3] / "examples"

H200 = Device(
    key="h200",
    name="NVIDIA H200",
    backend="cuda",
    arch=90,
    warp_size=32,
    multiprocessors=132,
    registers_per_sm=65536,
    max_registers_per_thread=255,
    shared_per_sm=233472,
    shared_per_program=232448,
    max_warps_per_sm=64,
    max_programs_per_sm=32,
    l2_bytes=50 * 2**20,
    memory_bytes=141 * 10**9,
    dram_bytes_per_s=4.8e12,
    l2_bytes_per_s=5.5e12,
    fp32_flops=67e12,
    instructions_per_s=33.5e12,
    special_per_s=3.9e12,
    programs_per_s=1.66e9,
    tensor_flops={"float16": 989e12, "bfloat16": 989e12, "tf32": 494e12},
    launch_us=4.0,
)


def program_of(text: str, tmp_path: Path, name: str = "sample.py", kernel: str | None = None) -> Program:
    path = tmp_path / name
    path.write_text(text, newline="")
    return find_program(Workspace.for_file(str(path)), str(path), kernel)


def example(name: str, tmp_path: Path) -> Program:
    """The example's program; of an example with several kernels the one of that name."""
    file = captured_examples.SEVERAL.get(name, name)
    return program_of((EXAMPLES / f"{file}.py").read_text(), tmp_path, f"{file}.py", None if file == name else name)


def again(program: Program, texts: dict[str, str], tmp_path: Path) -> Program:
    """The program of edited texts, as the search reads a variant before it becomes a parent."""
    path = program.kernel.place.path
    return find_program(Workspace.for_file(path, texts), path, program.kernel.place.qualname)


def made_by(move: str, program: Program, given: Facts) -> list[Proposal]:
    """What one move proposes. The others of its strategy are asked too: whatever the text is, none may raise."""
    owner = next(s for s in STRATEGIES if any(m.name == move for m in s.moves))
    return [p for p in owner.propose(program, given) if p.move == move]


def launch(
    program: Program, grid: list[int], constants: dict[str, Any], scalars: dict[str, Any], tensors: dict[str, tuple[list[int], str]]
) -> Any:
    return {
        "kernel": {"module": "sample", "path": program.kernel.place.path, "qualname": program.kernel.place.qualname},
        "specialization": "s",
        "grid": grid,
        "num_warps": 4,
        "num_stages": 3,
        "num_ctas": 1,
        "constants": constants,
        "scalars": scalars,
        "tensors": {n: {"name": n, "shape": s, "stride": [], "dtype": d} for n, (s, d) in tensors.items()},
        "config": None,
        "target": True,
    }


def facts(*launches: Any, device: Device = H200, **more: Any) -> Facts:
    cases = tuple({"id": str(i), "role": "time", "neighbour_of": None, "launches": [x]} for i, x in enumerate(launches))
    return Facts(device, cases, **more)  # pyright: ignore[reportArgumentType]


def example_facts(name: str, program: Program) -> Facts:
    """What a capture of the example's bench gives."""
    if name in captured_examples.NAMES:
        cases = captured_examples.load(name, program.kernel.place.path)
        for launched in (x for case in cases for x in case["launches"]):
            launched["target"] = launched["kernel"]["qualname"] == program.kernel.place.qualname
        return Facts(H200, tuple(cases))  # pyright: ignore[reportArgumentType]
    if name == "vector_add":
        return facts(
            *(
                launch(
                    program,
                    [n // 1024, 1, 1],
                    {"BLOCK_SIZE": 1024},
                    {"n_elements": n},
                    {p: ([n], "float32") for p in ("x_ptr", "y_ptr", "output_ptr")},
                )
                for n in (2**23, 2**24)
            )
        )
    if name == "fused_softmax":
        return facts(
            *(
                launch(
                    program,
                    [m, 1, 1],
                    {"BLOCK_SIZE": 1 << (n - 1).bit_length()},
                    {"n_cols": n, "input_row_stride": n, "output_row_stride": n},
                    {p: ([m, n], "float32") for p in ("input_ptr", "output_ptr")},
                )
                for m, n in ((8192, 1024), (4096, 4096), (1024, 32000))
            )
        )
    if name == "layer_norm":
        return facts(
            *(
                launch(
                    program,
                    [m, 1, 1],
                    {"BLOCK_SIZE": 1024},
                    {"N": n, "stride": n, "eps": 1e-5},
                    {"X": ([m, n], "float16"), "Y": ([m, n], "float16"), "W": ([n], "float16"), "B": ([n], "float16")},
                )
                for m, n in ((4096, 4096), (4096, 8192))
            )
        )
    return facts(
        *(
            launch(
                program,
                [(m // 64) * (n // 64), 1, 1],
                {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32},
                {"M": m, "N": n, "K": k, "stride_am": k, "stride_ak": 1, "stride_bk": n, "stride_bn": 1, "stride_cm": n, "stride_cn": 1},
                {"a_ptr": ([m, k], "float16"), "b_ptr": ([k, n], "float16"), "c_ptr": ([m, n], "float16")},
            )
            for m, n, k in ((2048, 2048, 2048), (4096, 4096, 4096), (8192, 4096, 1024))
        )
    )
