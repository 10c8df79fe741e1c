"""Reading a tar, compressed or not, whoever made it: nothing in it decides how much memory is used.

The standard library's reader takes in the headers of extended formats whole, however large they say they are.
"""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

_BLOCK: Final = tarfile.BLOCKSIZE
_CHUNK: Final = 256 * 1024
_MOST_XZ_MEMORY: Final = 128 * 1024 * 1024
"""Twice of what `xz -9` asks for."""
_LONG_SIZE: Final = re.compile(rb"\d{1,2} size=(\d{1,19})\n")
"""All that our archives say in an extended header: the size of a file of 8 GiB and more."""

BROKEN: Final = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a broken archive raises, besides an `OSError` without a number."""


class Member(NamedTuple):
    name: str
    size: int


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed where it is compressed by gzip, bzip2 or xz."""
    with file.open("rb") as source:
        magic = source.peek(6)
        stream: IO[bytes] = source
        if magic.startswith(b"\x1f\x8b"):
            stream = cast("IO[bytes]", gzip.GzipFile(fileobj=source))
        elif magic.startswith(b"BZh"):
            stream = bz2.BZ2File(source)
        elif magic.startswith(b"\xfd7zXZ\x00"):
            stream = io.BufferedReader(_Xz(source), _CHUNK)
        with stream:
            yield stream


def next_member(stream: IO[bytes]) -> Member:
    """The plain file that comes next; `TarError` where something else does."""
    head = _head(stream)
    if head.type != tarfile.XHDTYPE:
        return Member(head.name, head.size)
    if not 0 < head.size <= _BLOCK:
        raise tarfile.ReadError("a header is too large")
    record = _LONG_SIZE.fullmatch(b"".join(contents(stream, head.size)))
    if record is None:
        raise tarfile.ReadError("a header says what ours do not")
    return Member(_head(stream, tarfile.REGTYPE).name, int(record[1]))


def contents(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """So many bytes, in pieces, and then the stream stands at the next header; `TarError` where it ends before."""
    left = size
    while left:
        piece = stream.read(min(left, _CHUNK))
        if not piece:
            raise tarfile.ReadError("unexpected end of data")
        left -= len(piece)
        yield piece
    stream.read(-size % _BLOCK)


def _head(stream: IO[bytes], *types: bytes) -> tarfile.TarInfo:
    head = tarfile.TarInfo.frombuf(stream.read(_BLOCK), "utf-8", "surrogateescape")
    if head.type not in (types or (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.XHDTYPE)) or head.size < 0:
        raise tarfile.ReadError("there is something other than plain files in it")
    return head


class _Xz(io.RawIOBase):
    """What an xz file holds; unlike `lzma.LZMAFile` it does not take all the memory that the file asks for."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._decompressor = _new_decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = b""
        while not piece:
            packed = b""
            if self._decompressor.eof:
                # As with gzip and bzip2, one stream may follow another.
                packed = self._decompressor.unused_data or self._source.read(_CHUNK)
                if not packed:
                    return 0
                self._decompressor = _new_decompressor()
            elif self._decompressor.needs_input:
                packed = self._source.read(_CHUNK)
                if not packed:
                    raise EOFError("unexpected end of data")
            piece = self._decompressor.decompress(packed, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _new_decompressor() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_XZ_MEMORY)
