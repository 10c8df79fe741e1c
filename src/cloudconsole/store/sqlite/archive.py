"""Backup archive format (tar + manifest)."""

import bz2
import gzip
import hashlib
import io
import lzma
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Final, NamedTuple, cast

import msgspec
from msgspec import Meta, Struct

from cloudconsole._version import __version__
from cloudconsole.core.clock import format_utc
from cloudconsole.store.base import DATABASE_NAMES, DatabaseName, StoreError
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.permissions import LEAST_FREE

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


FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
LARGEST_MANIFEST: Final = 65_536
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)


class FileEntry(Struct, frozen=True):
    bytes: Annotated[int, Meta(ge=0)]
    sha256: str
    revision: str


class Manifest(Struct, frozen=True):
    format: int
    version: str
    """Of the Cloud Console that made the backup."""
    made_at: str
    files: dict[DatabaseName, FileEntry]


def describe(folder: Path, revisions: dict[DatabaseName, str], made_at: int) -> Manifest:
    """The manifest of the copies in a folder."""
    files = {part: _entry(database_file(folder, part), revisions[part]) for part in DATABASE_NAMES}
    return Manifest(FORMAT, __version__, format_utc(made_at), files)


def write_archive(target: IO[bytes], manifest: Manifest, folder: Path) -> None:
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        head = tarfile.TarInfo(MANIFEST)
        head.size, head.mode = len(content), 0o600
        tar.addfile(head, io.BytesIO(content))
        for part in DATABASE_NAMES:
            file = database_file(folder, part)
            member = tarfile.TarInfo(file.name)
            member.size, member.mode = manifest.files[part].bytes, 0o600
            with file.open("rb") as copy:
                tar.addfile(member, copy)


def read_archive(file: Path, folder: Path) -> Manifest:
    """Take a backup apart into a folder; `StoreError` unless it is whole and just what its manifest says."""
    try:
        with unpacked(file) as stream:
            manifest = _read_manifest(stream, file)
            _refuse_without_room(file, manifest, folder)
            for part in DATABASE_NAMES:
                _extract(stream, part, manifest.files[part], folder, file)
    except BROKEN as problem:
        raise _not_whole(file, problem) from problem
    except OSError as problem:
        # Some decompressors complain so, without a number; a disk or a folder that fails has one.
        if problem.errno is None:
            raise _not_whole(file, problem) from problem
        raise
    return manifest


def _not_whole(file: Path, problem: Exception) -> StoreError:
    return StoreError(f"{file} is not a backup, or not a whole one: {problem}")


def _entry(file: Path, revision: str) -> FileEntry:
    with file.open("rb") as content:
        return FileEntry(file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest(), revision)


def _read_manifest(stream: IO[bytes], file: Path) -> Manifest:
    head = next_member(stream)
    if head.name != MANIFEST or head.size > LARGEST_MANIFEST:
        raise StoreError(f"{file} is not a backup: it does not begin with {MANIFEST}")
    try:
        manifest = msgspec.json.decode(b"".join(contents(stream, head.size)), type=Manifest)
    except msgspec.MsgspecError as problem:
        raise StoreError(f"{file} is not a backup: its manifest cannot be read: {problem}") from problem
    if manifest.format > FORMAT:
        raise StoreError(f"{file} was made by a newer Cloud Console ({manifest.version}): install that version")
    if not (_MOMENT.fullmatch(manifest.made_at) and manifest.version.isprintable()):
        raise StoreError(f"{file} is not a backup: its manifest does not say when and by what it was made")
    if set(manifest.files) != set(DATABASE_NAMES):
        raise StoreError(f"{file} is not a backup: its manifest does not name both databases")
    return manifest


def _refuse_without_room(file: Path, manifest: Manifest, folder: Path) -> None:
    """Rather than fill the disk of a console that is being served."""
    needed = sum(entry.bytes for entry in manifest.files.values())
    free = max(0, shutil.disk_usage(folder).free - LEAST_FREE)
    if needed > free:
        raise StoreError(
            f"{file} holds {needed} bytes, and {free} are free for it: make room, or give --to DIR elsewhere"
        )


def _extract(stream: IO[bytes], part: DatabaseName, entry: FileEntry, folder: Path, file: Path) -> None:
    """Read exactly the file that must come next; no name in the archive is ever used as a path."""
    target = database_file(folder, part)
    try:
        member = next_member(stream)
    except tarfile.HeaderError:
        member = None
    if member != (target.name, entry.bytes):
        raise StoreError(f"{file} is not a whole backup: {target.name} is missing or has another size")
    target.touch(mode=0o600)
    digest = hashlib.sha256()
    with target.open("wb") as copy:
        for piece in contents(stream, entry.bytes):
            digest.update(piece)
            copy.write(piece)
    if digest.hexdigest() != entry.sha256:
        raise StoreError(f"{file} is damaged: {target.name} is not what its manifest says; take another backup")
