"""The frame reader meets anything: what isn't a frame is refused at once, what is comes back as it was."""

from __future__ import annotations

import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband_worker import frames

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.dictionaries(st.text(), JSON, max_size=5)


@given(st.lists(MESSAGES, max_size=4))
def test_messages_come_back_as_they_were(messages: list[dict[str, object]]) -> None:
    stream = io.BytesIO(b"".join(frames.encode(m) for m in messages))
    assert [frames.read(stream) for _ in messages] == messages
    assert frames.read(stream) is None


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_message_an_error_or_the_end(data: bytes) -> None:
    stream = io.BytesIO(data)
    try:
        while (message := frames.read(stream)) is not None:
            assert isinstance(message, dict)
    except frames.FrameError:
        return
    assert stream.read() == b""


@given(MESSAGES, st.data())
def test_a_cut_frame_is_an_error_never_a_message(message: dict[str, object], data: st.DataObject) -> None:
    frame = frames.encode(message)
    cut = data.draw(st.integers(1, len(frame) - 1))
    with pytest.raises(frames.FrameError):
        frames.read(io.BytesIO(frame[:cut]))


@given(MESSAGES, st.binary(min_size=1, max_size=3), st.data())
def test_a_changed_frame_never_raises_anything_else(message: dict[str, object], noise: bytes, data: st.DataObject) -> None:
    frame = frames.encode(message)
    at = data.draw(st.integers(0, len(frame) - 1))
    stream = io.BytesIO(frame[:at] + noise + frame[at + len(noise) :])
    try:
        while frames.read(stream) is not None:
            pass
    except frames.FrameError:
        pass


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +1\r\n\r\n1",
        b"Content-Length: 1_0\r\n\r\n0123456789",
        b"Content-Length: \xd9\xa1\r\n\r\n1",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Type: x\r\n\r\n{}",
        b"\r\n{}",
        b"hello\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{\xff",
        b"Content-Length: 200000\r\n\r\n" + b"[" * 200000,
        b"x" * 10_000,
        b"a: b\r\n" * 2000,
        b"a: b\r\n" * 2000 + b"Content-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.read(io.BytesIO(data))


def test_a_claimed_length_is_not_allocated() -> None:
    with pytest.raises(frames.FrameError, match="before the end"):
        frames.read(io.BytesIO(b"Content-Length: %d\r\n\r\nshort" % frames.MAX_FRAME_BYTES))


def test_other_headers_and_any_case_are_taken() -> None:
    assert frames.read(io.BytesIO(b"content-LENGTH: 2\nX-Other: 1\n\n{}")) == {}


def test_frames_of_several_threads_stay_whole() -> None:
    stream = io.BytesIO()
    writer = frames.Writer(stream)
    threads = [threading.Thread(target=lambda n=n: [writer.send({"n": n, "text": "x" * n}) for _ in range(50)]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.seek(0)
    seen = []
    while (message := frames.read(stream)) is not None:
        assert len(message["text"]) == message["n"]
        seen.append(message["n"])
    assert sorted(seen) == sorted(list(range(8)) * 50)
