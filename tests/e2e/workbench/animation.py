"""Pictures one after the other in one animated PNG, which browsers and README pages play. Each stays for its own time."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def animated(frames: Sequence[tuple[bytes, float]]) -> bytes:
    """One animated PNG that repeats for ever.

    Args:
        frames: PNG files, with the seconds that each is shown.

    Raises:
        ValueError: there is none, one isn't a PNG, or they differ in size or colours.
    """
    read = [(list(_chunks(png)), seconds) for png, seconds in frames]
    heads = {dict(chunks)[b"IHDR"] for chunks, _ in read}
    if len(heads) != 1:
        raise ValueError(f"The pictures have {len(heads)} kinds of sizes and colours: one is needed.")
    (head,) = heads
    size = head[:8]  # width and height
    out = [SIGNATURE, _chunk(b"IHDR", head), _chunk(b"acTL", struct.pack(">II", len(read), 0))]
    number = 0
    for at, (chunks, seconds) in enumerate(read):
        out.append(_chunk(b"fcTL", struct.pack(">I", number) + size + struct.pack(">IIHHBB", 0, 0, round(1000 * seconds), 1000, 0, 0)))
        number += 1
        for content in (content for kind, content in chunks if kind == b"IDAT"):
            if at == 0:
                out.append(_chunk(b"IDAT", content))
            else:
                out.append(_chunk(b"fdAT", struct.pack(">I", number) + content))
                number += 1
    return b"".join([*out, _chunk(b"IEND", b"")])


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not png.startswith(SIGNATURE):
        raise ValueError("A picture isn't a PNG.")
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
