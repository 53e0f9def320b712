"""The kernel index: newest version wins, nobody waits for ever, the loop is never the one that parses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kernelband.lsp import index
from kernelband.lsp.index import KernelIndex, Snapshot, place
from kernelband.lsp.text import Lines
from kernelband.source import IncrementalKernels, find_kernels
from kernelband.source.encoding import MAX_FILE_BYTES
from kernelband.source.model import Kernel

HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = "@triton.jit\ndef {}(x_ptr, BLOCK: tl.constexpr):\n    tl.store(x_ptr + tl.arange(0, BLOCK), {})\n\n\n"
URI = "untitled:Untitled-1"


def text(*names: str) -> str:
    return HEAD + "".join(KERNEL.format(n, 0) for n in names)


def names(snapshot: Snapshot | None) -> list[str] | None:
    return None if snapshot is None else [k.place.qualname for k in snapshot.kernels]


def run(
    scenario: Callable[[KernelIndex], Awaitable[None]],
    on_snapshot: Callable[[Snapshot, Snapshot | None], None] | None = None,
    debounce: float = 0.01,
) -> None:
    async def main() -> None:
        held = KernelIndex(on_snapshot, debounce)
        try:
            await asyncio.wait_for(scenario(held), 100)
        finally:
            held.stop()

    asyncio.run(main())


class Gate:
    """Stands in front of every parse: counts them, tells their thread, and holds them while it is shut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.entered = threading.Event(), threading.Event()
        self.open.set()
        self.texts: list[str] = []
        self.threads: set[int] = set()
        read = IncrementalKernels.read

        def gated(kernels: IncrementalKernels, path: str, version: str) -> tuple[Kernel, ...]:
            self.texts.append(version)
            self.threads.add(threading.get_ident())
            self.entered.set()
            assert self.open.wait(100)
            return read(kernels, path, version)

        monkeypatch.setattr(IncrementalKernels, "read", gated)

    async def reached(self) -> None:
        """Until a parse stands before the gate."""
        assert await asyncio.to_thread(self.entered.wait, 100)
        self.entered.clear()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.open.set()


def test_what_a_snapshot_holds(tmp_path: Path) -> None:
    file = tmp_path / "a b.py"
    file.write_text("on disk")
    (tmp_path / "link.py").symlink_to(file)
    buffer = text("first", "second").replace("\n", "\r\n")

    async def scenario(held: KernelIndex) -> None:
        for uri, path in ((file.as_uri(), str(file)), ((tmp_path / "link.py").as_uri(), str(file)), (URI, place(URI))):
            held.opened(uri, 3, buffer)
            snapshot = await held.fresh(uri, 3)
            assert snapshot == Snapshot(uri, 3, buffer, Lines(buffer), find_kernels(path, buffer))
            assert [k.place.path for k in snapshot.kernels] == [path, path]
            assert held.latest(uri) is snapshot

    run(scenario)


def test_versions_follow_each_other() -> None:
    seen: list[tuple[int, list[str] | None]] = []

    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a"))
        assert held.latest(URI) is None
        assert names(await held.fresh(URI, 1)) == ["a"]
        for version, kernels in enumerate([("a", "b"), ("c",), (), ("c", "a")], start=2):
            held.changed(URI, version, text(*kernels))
            assert names(held.latest(URI)) != list(kernels)  # an older one until then
            assert names(await held.fresh(URI, version)) == list(kernels)
        assert names(await held.fresh(URI, 3)) == ["c", "a"]  # a later version than asked for

    run(scenario, lambda s, _: seen.append((s.version, names(s))))
    assert seen == [(1, ["a"]), (2, ["a", "b"]), (3, ["c"]), (4, []), (5, ["c", "a"])]


def test_keys_that_come_together_are_read_once(gate: Gate) -> None:
    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a"))
        await held.fresh(URI, 1)
        for version in range(2, 20):
            held.changed(URI, version, text(f"a{version}"))
        assert names(await held.fresh(URI, 5)) == ["a19"]
        assert gate.texts == [text("a"), text("a19")]

    run(scenario)


def test_who_types_on_sees_kernels_too() -> None:
    seen: list[int] = []

    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a"))
        version = 1
        while len(seen) < 4:  # each change comes before the one before was due
            version += 1
            held.changed(URI, version, text(f"a{version}"))
            await asyncio.sleep(0.01)

    run(scenario, lambda s, _: seen.append(s.version), debounce=0.03)
    assert seen == sorted(seen)


def test_the_loop_goes_on_while_a_version_is_read(gate: Gate) -> None:
    gate.open.clear()

    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a"))
        first = asyncio.create_task(held.fresh(URI, 1))
        await gate.reached()
        held.changed(URI, 2, text("b"))
        await asyncio.sleep(0.05)  # it is due, and the thread is busy
        held.changed(URI, 3, text("c"))
        third = asyncio.create_task(held.fresh(URI, 3))
        await asyncio.sleep(0)
        assert held.latest(URI) is None
        assert not first.done()
        gate.open.set()
        assert names(await first) == ["a"]
        assert names(await third) == ["c"]

    run(scenario)
    assert gate.texts == [text("a"), text("c")]
    assert threading.get_ident() not in gate.threads
    assert len(gate.threads) == 1


def test_of_a_long_text_there_is_an_outline_before_it_is_read(gate: Gate) -> None:
    plain = "def plain(x):\n    return x + 1\n\n\n" * 4000
    long = HEAD + plain + KERNEL.format("last", 0)
    told: list[Snapshot] = []

    async def scenario(held: KernelIndex) -> None:
        gate.open.clear()
        held.opened(URI, 1, long)
        early = await held.soonest(URI)
        assert early is not None
        assert early.outlined
        assert names(early) == ["last"]
        assert early.text[early.kernels[0].name_span.start :].startswith("last(")
        assert held.latest(URI) is None, "nobody but a view takes an outline for the text"
        assert not told
        gate.open.set()
        whole = await held.fresh(URI, 1)
        assert whole is not None
        assert not whole.outlined
        assert names(whole) == ["last"]
        assert await held.soonest(URI) is whole
        held.changed(URI, 2, long.replace("last", "other"))
        assert names(await held.fresh(URI, 2)) == ["other"]

    run(scenario, lambda snapshot, _: told.append(snapshot))
    assert not any(s.outlined for s in told)
    assert gate.texts[0] == long


def test_a_document_that_is_closed_is_nobodys(gate: Gate) -> None:
    seen: list[tuple[Snapshot, Snapshot | None]] = []
    gate.open.clear()

    async def scenario(held: KernelIndex) -> None:
        assert await held.fresh(URI, 1) is None
        held.closed(URI)  # it never was open
        held.opened(URI, 1, text("a"))
        waiting = asyncio.create_task(held.fresh(URI, 1))
        await gate.reached()
        held.closed(URI)
        assert await waiting is None
        assert held.latest(URI) is None
        held.opened(URI, 1, text("b"))  # again, while the first is still being read
        gate.open.set()
        assert names(await held.fresh(URI, 1)) == ["b"]
        held.changed(URI, 2, text("c"))
        held.closed(URI)
        await asyncio.sleep(0.05)
        assert held.latest(URI) is None

    run(scenario, lambda *snapshots: seen.append(snapshots))
    assert [(names(s), before) for s, before in seen] == [(["b"], None)]
    assert gate.texts == [text("a"), text("b")]


def test_a_waiter_that_is_cancelled_leaves_the_others(gate: Gate) -> None:
    gate.open.clear()

    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a"))
        gone, stays = (asyncio.create_task(held.fresh(URI, 1)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        gate.open.set()
        assert names(await stays) == ["a"]
        assert gone.cancelled()

    run(scenario)


def test_documents_are_read_side_by_side() -> None:
    uris = [f"untitled:{n}" for n in range(5)]

    async def scenario(held: KernelIndex) -> None:
        for n, uri in enumerate(uris):
            held.opened(uri, 1, text(f"k{n}"))
        found = await asyncio.gather(*(held.fresh(uri, 1) for uri in uris))
        assert [names(s) for s in found] == [[f"k{n}"] for n in range(5)]
        held.changed(uris[1], 2, text("x"))
        held.changed(uris[3], 2, text("y"))
        assert [names(await held.fresh(uris[n], 2)) for n in (3, 1)] == [["y"], ["x"]]
        assert names(held.latest(uris[0])) == ["k0"]

    run(scenario)


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (text("a", "b").replace("0)", "(", 1), ["a", "b"]),
        (text("a") + '"""\n' + text("b"), ["a", "b"]),
        ("\0\ud83d\f" + text("a"), ["a"]),
        (text("a") + "x = " + "(" * 2000 + "1" + ")" * 2000, ["a"]),
        (text("a").replace("@triton.jit", "@triton.jit(x=" + "(" * 2000 + "1" + ")" * 2001), []),
        ("jit " * 50, []),
    ],
    ids=["bracket", "quotes", "odd characters", "nested deep", "decorator nested too deep", "words"],
)
def test_broken_text_gives_what_is_found(broken: str, found: list[str]) -> None:
    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a", "b"))
        await held.fresh(URI, 1)
        held.changed(URI, 2, broken)
        assert names(await held.fresh(URI, 2)) == found
        held.changed(URI, 3, text("a", "b"))
        assert names(await held.fresh(URI, 3)) == ["a", "b"]

    run(scenario)


def test_a_text_that_is_too_large_is_not_read_and_says_so(tmp_path: Path) -> None:
    large = "#" * (MAX_FILE_BYTES + 1)
    file = tmp_path / "k.py"

    async def scenario(held: KernelIndex) -> None:
        for uri, name in ((file.as_uri(), str(file)), (URI, "Untitled-1.py")):
            held.opened(uri, 1, text("a") + large)
            refused = await held.fresh(uri, 1)
            assert refused is not None
            assert names(refused) == []
            assert refused.problem.startswith(f"{name} has {MAX_FILE_BYTES + 1 + len(text('a')):,} bytes, more than the 4,000,000 ")
            held.changed(uri, 2, large)
            other = await held.fresh(uri, 2)
            assert (names(other), other.problem if other is not None else None) == ([], ""), "no kernel is missed in it"
            held.changed(uri, 3, text("a", "b"))
            small = await held.fresh(uri, 3)
            assert (names(small), small.problem if small is not None else None) == (["a", "b"], "")

    run(scenario)


def test_a_fault_of_ours_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def faulty(uri: str) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(index, "place", faulty)

    async def scenario(held: KernelIndex) -> None:
        held.opened(URI, 1, text("a"))
        assert names(await held.fresh(URI, 1)) == []

    run(scenario)
    assert "ZeroDivisionError" in caplog.text
