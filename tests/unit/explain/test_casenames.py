"""Names of cases: short, and each its own."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kernelband.explain.casenames import LONG, case_names


def case(number: int, arguments: str, function: str = "softmax") -> dict[str, Any]:
    return {"id": f"{number:08x}ffff", "arguments": arguments, "function": {"qualname": function}}


def names(*arguments: str) -> list[str]:
    return list(case_names([case(i, a) for i, a in enumerate(arguments)]).values())


def test_what_differs_is_the_name() -> None:
    assert names("x: float32[64, 8], eps: 1e-05", "x: float32[4096, 8], eps: 1e-05") == ["x[64, 8]", "x[4096, 8]"]
    assert names("x: float32[8], M: 1024", "x: float32[8], M: 4096") == ["M=1024", "M=4096"]


def test_a_dtype_stands_there_where_it_tells_cases_apart() -> None:
    assert names("x: float32[8]", "x: float16[8]") == ["x float32[8]", "x float16[8]"]


def test_the_only_case_is_named_by_its_arguments() -> None:
    assert names("x: float32[98432], y: float32[98432]") == ["x[98432], y[98432]"]
    assert names("") == ["softmax"]


def test_more_arguments_only_while_short_or_needed() -> None:
    both = names("a: float16[4096, 4096], b: float16[4096, 4096]", "a: float16[8192, 1024], b: float16[1024, 4096]")
    assert both == ["a[4096, 4096], b[4096, 4096]", "a[8192, 1024], b[1024, 4096]"]
    long = names(*(f"first: float16[{n}, 1234567, 7654321], second: float16[{n}, 1234567]" for n in (1, 2)))
    assert long == ["first[1, 1234567, 7654321]", "first[2, 1234567, 7654321]"]
    needed = names("a: int32[11111111, 22222222], b: int32[1]", "a: int32[11111111, 22222222], b: int32[2]", "a: int32[1, 1], b: int32[1]")
    assert len(set(needed)) == 3


def test_cases_of_several_functions_say_which() -> None:
    found = case_names([case(0, "x: float32[8]", "forward"), case(1, "x: float32[8]", "backward")])
    assert list(found.values()) == ["forward, x[8]", "backward, x[8]"]


def test_commas_in_a_value_do_not_split_it() -> None:
    assert names("shape: (1, 2), mode: 'a, b'", "shape: (1, 2), mode: 'c'") == ["mode='a, b'", "mode='c'"]


def test_cases_that_look_alike_get_their_id() -> None:
    assert names("x: float32[8]", "x: float32[8]") == ["x[8] (00000000)", "x[8] (00000001)"]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_any_text_gives_names_of_their_own(arguments: list[str]) -> None:
    found = names(*arguments)
    assert len(found) == len(arguments)
    assert len(set(found)) == len(found)
    assert all(found)
    assert LONG > 20
