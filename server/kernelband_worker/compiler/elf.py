"""Just enough of the ELF format to read the machine code out of a cubin or hsaco without its debug information."""

from __future__ import annotations

import hashlib
import struct
from typing import Iterator, Tuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_NOBITS = 8


class NotElfError(Exception):
    """The bytes are no 64-bit little-endian ELF file."""


def sections(data: bytes) -> Iterator[Tuple[str, bytes]]:
    """Name and content of every section.

    Raises:
        NotElfError: the headers can't be read.
    """
    if len(data) < _HEADER.size or data[:6] != b"\x7fELF\x02\x01":
        raise NotElfError("not a 64-bit little-endian ELF file")
    header = _HEADER.unpack_from(data)
    offset, size, count, names_index = header[6], header[11], header[12], header[13]
    if size < _SECTION.size or offset + size * count > len(data) or names_index >= count:
        raise NotElfError("its section table lies outside the file")
    table = [_SECTION.unpack_from(data, offset + i * size) for i in range(count)]
    names = data[table[names_index][4] : table[names_index][4] + table[names_index][5]]
    for entry in table:
        name = names[entry[0] : names.find(b"\0", entry[0])].decode("utf-8", "replace")
        yield name, b"" if entry[1] == _NOBITS else data[entry[4] : entry[4] + entry[5]]


def _is_code(name: str) -> bool:
    """Instructions, constants that the compiler made, and AMD's kernel descriptor (registers, LDS); not debug lines, symbols or notes."""
    kernel_constants = name.startswith(".nv.constant") and not name.startswith(".nv.constant0")
    return name.startswith((".text", ".nv.global.init", ".rodata")) or kernel_constants


def code_hash(binary: bytes, *launch: object) -> str:
    """SHA-256 of the machine code and of ``launch``, what the launch fixes beside it (shared bytes, warps ...).

    Section names hold the kernel's name and are left out: two kernels that differ in name, lines or comments only are equal.
    """
    digest = hashlib.sha256(repr(launch).encode())
    for name, content in sections(binary):
        if _is_code(name):
            digest.update(struct.pack("<Q", len(content)))
            digest.update(content)
    return digest.hexdigest()
