"""Conservative: a tier other than unclear needs a fact that belongs to what limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.hardware.find import find_device
from kernelband.hardware.forecast import estimate, forecast, launch_bound, waits_us
from tests.unit.hardware.conftest import make_work

H100 = find_device("h100")
COPY = {"dram_bytes": 1e9, "moved_bytes": 1e9, "flops": 1e8, "dot_flops": 0, "sectors": 1.0}


def test_the_same_code_with_the_same_grid_is_unclear(work):
    found = forecast(H100, [work(**COPY)], [work(**COPY)])
    assert (found.tier, found.score) == ("unclear", 1.0)
    assert "same machine code" in found.fact


def test_fewer_bytes_of_a_memory_bound_kernel(work):
    found = forecast(H100, [work(**COPY)], [work(**{**COPY, "dram_bytes": 5e8, "moved_bytes": 5e8}, code="b")])
    assert found.tier == "likely faster"
    assert "bytes" in found.fact
    assert "1 GB before" in found.fact


def test_small_change_is_unclear(work):
    assert forecast(H100, [work(**COPY)], [work(**{**COPY, "dram_bytes": 9e8, "moved_bytes": 9e8}, code="b")]).tier == "unclear"


def test_width_helps_where_too_little_is_in_flight(work):
    narrow = work(width=16, loads=1, warps=1, programs=100000, registers=128, **COPY)
    wide = work(width=128, loads=1, warps=1, programs=100000, registers=128, code="b", **COPY)
    found = forecast(H100, [narrow], [wide])
    assert found.tier == "likely faster"
    assert "2 bytes at a time before, 16 after" in found.fact


def test_more_is_on_its_way_where_few_programs_take_larger_blocks(work):
    """512 programs, each walking over its rows: one warp that loads 16 bytes a thread, or four that load 64."""
    small, large = work(warps=1, loads=1, programs=512, **COPY), work(warps=4, loads=4, programs=512, code="b", **COPY)
    found = forecast(H100, [small], [large])
    assert found.tier == "likely faster"
    assert "more bytes on their way to a multiprocessor: 1.99 kB before, 31.8 kB after" in found.fact
    many = [{**COPY, "programs": 10**5}, {**COPY, "programs": 10**5, "code": "b"}]
    assert forecast(H100, [work(warps=4, **many[0])], [work(warps=8, **many[1])]).tier == "unclear"  # memory is busy with either


def test_programs_that_do_little_start_one_after_the_other(work):
    """rope on an H200: 161.8, 161.8 and 161.6 us, whatever its 262,144 programs move."""
    device, little = find_device("h200"), {"flops": 1e8, "dot_flops": 0, "sectors": 1.0, "programs": 262144}
    for moved in (68e6, 138e6):
        found = estimate(device, work(dram_bytes=moved, moved_bytes=2 * moved, **little))
        assert (found.limit, found.us) == ("programs", pytest.approx(161.7, rel=0.02))
    before, fewer = work(dram_bytes=138e6, **little), work(dram_bytes=138e6, code="b", **{**little, "programs": 16384})
    told = forecast(device, [before], [fewer])
    assert (told.tier, told.fact) == ("likely faster", "fewer programs to start: 262 k before, 16.4 k after")


def test_a_short_launch_of_many_programs_is_promised_nothing(work):
    """max_pool2d on an H200: a quarter of 16,384 programs takes 0.97 of the time, as threads wait for what no fact tells."""
    some = {"dram_bytes": 19e6, "moved_bytes": 29e6, "flops": 1e6, "dot_flops": 0, "sectors": 1.0, "warps": 2}
    found = forecast(find_device("h200"), [work(programs=16384, **some)], [work(programs=2048, code="b", **some)])
    assert (found.tier, "programs" in found.fact) == ("unclear", False)


def test_a_tiny_kernel_is_never_promised_anything(work):
    tiny = {**COPY, "dram_bytes": 4e3, "moved_bytes": 4e3, "flops": 1e3}
    found = forecast(H100, [work(width=16, programs=8, **tiny)], [work(programs=8, code="b", **tiny)])
    assert found.tier == "unclear"


def test_spills_that_appear_are_never_a_promise(work):
    before = work(**{**COPY, "moved_bytes": 8e9, "dram_bytes": 4e9})
    after = work(**{**COPY, "moved_bytes": 2e9, "dram_bytes": 1e9}, spills=400, code="b")
    assert forecast(H100, [before], [after]).tier != "likely faster"


def test_a_tile_that_can_not_be_launched_is_slower(work):
    found = forecast(H100, [work(**COPY)], [work(unusable="needs too much", code="b", **COPY)])
    assert (found.tier, found.fact, found.score) == ("likely slower", "needs too much", 0.0)
    found = forecast(find_device("rtx4090"), [work(**COPY)], [work(shared=147456, code="b", **COPY)])
    assert found.tier == "likely slower"
    assert "shared memory" in found.fact


def test_tensor_cores_speed_up_a_product(work):
    product = {"dram_bytes": 4e8, "moved_bytes": 2e9, "flops": 1e8, "dot_flops": 1e12, "sectors": 1.0, "dtype": "float16"}
    found = forecast(H100, [work(tensor_core=None, **product)], [work(tensor_core="wgmma", code="b", **product)])
    assert found.tier == "likely faster"
    assert "none before, wgmma after" in found.fact


def test_fusion_is_one_launch_instead_of_two(work):
    small = {**COPY, "dram_bytes": 1e6, "moved_bytes": 1e6, "flops": 1e4}
    found = forecast(H100, [work(**small), work(code="c", **small)], [work(code="b", **small)])
    assert found.tier == "likely faster"
    assert "launches: 2 before, 1 after" in found.fact


def test_a_side_without_traffic_leaves_the_caches_out(work):
    known = work(**{**COPY, "moved_bytes": 1e12})
    blind = work(code="b", dram_bytes=1e9)
    assert forecast(H100, [known], [blind]).tier == "unclear"
    assert estimate(H100, known, traffic=False).us < estimate(H100, known).us


@settings(max_examples=60, deadline=None)
@given(
    st.floats(1e3, 1e11),
    st.sampled_from([8, 16, 32, 64, 128]),
    st.integers(1, 100000),
    st.integers(16, 120),
    st.sampled_from([1, 2, 4, 8, 16]),
)
def test_estimates_are_finite_and_antisymmetric(moved, width, programs, registers, warps):
    some = make_work(
        registers=registers, width=width, programs=programs, warps=warps, **{**COPY, "dram_bytes": moved, "moved_bytes": moved}
    )
    base = make_work(code="b", **COPY)
    there, back = forecast(H100, [base], [some]), forecast(H100, [some], [base])
    assert there.score == pytest.approx(1 / back.score)
    assert {there.tier, back.tier} in ({"unclear"}, {"unclear", "likely slower"}, {"likely faster", "likely slower"})


def test_spilling_that_vanishes_on_one_case_and_harms_no_other(work):
    small, large = {**COPY, "case": "small"}, {**COPY, "case": "large"}
    before = [work(**small), work(spills=300, programs=4096, code="spilling", **large)]
    after = [work(code="b", **small), work(code="c", **large)]
    found = forecast(H100, before, after)
    assert found.tier == "likely faster"
    assert found.fact == (
        "in 1 of 2 timing cases, and no worse in the others: no registers spill any more: 600 bytes per thread before, 0 after"
    )
    narrower = [work(code="b", width=8, loads=1, registers=128, **small), after[1]]
    assert forecast(H100, before, narrower).tier != "likely faster"


def test_the_last_programs_share_the_bandwidth(work):
    """One program more than fits at once doesn't double the time of a copy; of a product it does."""
    fits, over = 132 * 16, 132 * 16 + 1
    assert estimate(H100, work(programs=over, **COPY)).us == pytest.approx(estimate(H100, work(programs=fits, **COPY)).us, rel=0.01)
    product = {"dram_bytes": 1e6, "moved_bytes": 1e6, "flops": 0, "dot_flops": 1e12, "dtype": "float16", "tensor_core": "wgmma"}
    assert estimate(H100, work(programs=over, **product)).us > 1.5 * estimate(H100, work(programs=fits, **product)).us


def test_what_the_formula_explains_little_of_is_promised_little(work):
    """A copy that took a hundred times what memory needs is hardly sped up by moving half the bytes."""
    before, after = [work(**COPY)], [work(**{**COPY, "dram_bytes": 5e8, "moved_bytes": 5e8}, code="b")]
    free = forecast(H100, before, after).score
    explained = estimate(H100, before[0]).us
    held = forecast(H100, before, after, {before[0].case: 100 * explained}).score
    assert free > 1.5
    assert held == pytest.approx(free**0.1)
    assert forecast(H100, before, after, {before[0].case: 0.5 * explained}).score == pytest.approx(free)


#: Attention's inner loop: as many exponentials as a 989 TFLOP/s tensor core takes as long for, and seven instructions a score.
SCORES = {"dram_bytes": 1e6, "moved_bytes": 1e6, "dot_flops": 1e12, "dtype": "float16", "tensor_core": "wgmma", "flops": 2e10}


def test_exponentials_limit_what_tensor_cores_do_not(work):
    before = work(arithmetic=3e10, functions={"exp": 4e9}, **SCORES)
    assert estimate(H100, before).limit == "compute"
    assert estimate(H100, before).us > 1.25 * estimate(H100, work(arithmetic=0, functions={}, **SCORES)).us
    found = forecast(H100, [before], [work(arithmetic=3e10, functions={"exp2": 4e9}, code="b", **SCORES)])
    assert found.score > 1.1
    halved = forecast(H100, [before], [work(arithmetic=1e10, functions={"exp2": 1e9}, code="b", **SCORES)])
    assert (halved.tier, halved.fact) == (
        "likely faster",
        "fewer instructions on floats outside matrix products: 50 G before, 11 G after",
    )


def test_a_multiprocessor_with_one_program_waits_for_each_of_its_units_in_turn(work):
    """A tile whose registers leave room for no second program loses what programs beside each other hide."""
    counted = {"arithmetic": 3e10, "functions": {"exp": 4e9}}
    several = work(registers=128, warps=4, programs=4096, **counted, **SCORES)
    alone = work(registers=255, warps=8, programs=2048, code="b", **counted, **SCORES)
    assert (several.occupancy(H100).programs, alone.occupancy(H100).programs) == (4, 1)
    found = forecast(H100, [several], [alone])
    assert found.score < 0.8
    assert forecast(H100, [alone], [several]).tier == "likely faster"
    few = work(registers=128, warps=4, programs=132, **counted, **SCORES)  # room for four, and one is there
    assert estimate(H100, few).us == pytest.approx(estimate(H100, work(registers=255, warps=8, programs=132, **counted, **SCORES)).us)


def test_a_case_whose_traffic_one_side_lacks_is_compared_by_its_bytes_alone(work):
    counted, blind = {"arithmetic": 3e10, "functions": {"exp": 4e9}, **SCORES}, {"dram_bytes": 1e6}
    found = forecast(
        H100,
        [work(**counted), work(case="d", **counted)],
        [work(code="b", **counted), work(case="d", code="b", **blind)],
    )
    assert found.score == pytest.approx(1.0)


def test_where_one_side_counted_operations_only_both_are_compared_by_them(work):
    old, new = work(**SCORES), work(arithmetic=3e10, functions={"exp": 4e9}, code="b", **SCORES)
    assert forecast(H100, [old], [new]).score == forecast(H100, [new], [old]).score == pytest.approx(1.0)


def test_many_warps_that_reduce_together_wait_for_each_other(work):
    few, many = (estimate(H100, work(**COPY, warps=n, shared=1024)).us for n in (8, 32))
    assert 1.3 < many / few < 1.7
    assert estimate(H100, work(**COPY, warps=32)).us == pytest.approx(estimate(H100, work(**COPY, warps=8)).us, rel=0.01)
    product = {"dot_flops": 1e12, "tensor_core": "wgmma", "shared": 1024}
    assert estimate(H100, work(warps=32, **product)).us == pytest.approx(estimate(H100, work(warps=8, **product)).us, rel=0.05)


TINY = {"dram_bytes": 1e4, "moved_bytes": 1e4, "flops": 100, "dot_flops": 0, "arithmetic": 100, "functions": {}}


def test_work_that_takes_less_than_its_launch(work):
    h100 = find_device("h100")
    assert launch_bound(h100, work(**TINY))
    assert not launch_bound(h100, work(**{**TINY, "dram_bytes": 1e9, "moved_bytes": 1e9}))
    assert not launch_bound(h100, work(**{**TINY, "moved_bytes": 1e9})), "the caches count, too"
    assert not launch_bound(h100, work(**{**TINY, "functions": {"exp": 1e10}}))


@pytest.mark.parametrize("unknown", ["dram_bytes", "moved_bytes", "functions"])
def test_nothing_is_said_of_what_was_not_counted(work, unknown):
    assert not launch_bound(find_device("h100"), work(**{**TINY, unknown: None}))


def test_few_programs_that_fetch_one_thing_after_the_other_take_long(work):
    moved = 132 * 128 * 16 * 20.0  # 20 fetches of 16 bytes by each thread
    chain = work(programs=132, loads=1, **{**TINY, "dram_bytes": 1e6, "moved_bytes": moved})
    assert waits_us(find_device("h100"), chain) == pytest.approx(16)
    assert estimate(find_device("h100"), chain).limit == "launch"
    assert not launch_bound(find_device("h100"), chain)
