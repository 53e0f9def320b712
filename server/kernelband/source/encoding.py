"""Bytes of a Python file to text and back, byte for byte: PEP 263 cookies, byte order marks, line ends as they are."""

from __future__ import annotations

import codecs
import io
import tokenize

from attrs import frozen

from kernelband.errors import SourceError

MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES = 4_000_000, 64_000_000  # a notebook holds pictures


@frozen
class Encoding:
    """How a file is written. ``marked``: it starts with a UTF-8 byte order mark, which isn't part of its text."""

    name: str = "utf-8"
    marked: bool = False

    def encode(self, text: str, path: str) -> bytes:
        """The bytes of ``text``.

        Raises:
            SourceError: the file's declared encoding hasn't these characters.
        """
        try:
            body = text.encode(self.name)
        except UnicodeEncodeError as error:
            bad = text[error.start : error.start + 1]
            raise SourceError(
                f"{path} declares the encoding {self.name}, which hasn't the character {bad!r}: declare utf-8 in its first line."
            ) from error
        return (codecs.BOM_UTF8 if self.marked else b"") + body


def decode(data: bytes, path: str) -> tuple[str, Encoding]:
    """The text of a Python file and how it is written.

    Raises:
        SourceError: binary data, or bytes that the declared encoding doesn't allow.
    """
    marked = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if marked else data
    if b"\0" in body:
        raise SourceError(f"{path} isn't text: it holds zero bytes. Name a Python file.")
    try:
        name = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        name = "utf-8" if name in ("utf-8-sig", "utf-8") else name
        text = body.decode(name)
    except (SyntaxError, LookupError, UnicodeDecodeError) as error:
        raise SourceError(
            f"{path} isn't text that Python can read: {error}. Save it as UTF-8 or declare its encoding in the first line."
        ) from error
    encoding = Encoding(name, marked)
    if encoding.encode(text, path) != data:
        raise SourceError(f"{path} can't be written back byte for byte in its encoding {name}: save it as UTF-8.")
    return text, encoding


def require_size(path: str, size: int, most: int = MAX_FILE_BYTES) -> None:
    """Refuse a file of more than ``most`` bytes.

    Raises:
        SourceError: it is one.
    """
    if size > most:
        raise SourceError(
            f"{path} has {size:,} bytes, more than the {most:,} that are read of one file: move its kernels into a smaller one."
        )


def require_short(path: str, text: str) -> None:
    """The same of a text that is on no disk, such as an open buffer's: by its bytes as UTF-8.

    Raises:
        SourceError: it is too large.
    """
    if len(text) > MAX_FILE_BYTES // 4:  # else it can't be: a character has four bytes at most
        require_size(path, len(text.encode("utf-8", "surrogatepass")))
