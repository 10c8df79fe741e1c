"""Backup archives: a tar file with a manifest and both databases."""

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
from cloudconsole.store.sqlite.permissions import MIN_FREE

_BLOCK: Final = tarfile.BLOCKSIZE
_CHUNK: Final = 256 * 1024
_MAX_XZ_MEMORY: Final = 128 * 1024 * 1024
"""Twice what `xz -9` needs."""
_LONG_SIZE: Final = re.compile(rb"\d{1,2} size=(\d{1,19})\n")
"""The only extended header in our archives: the size of a file of 8 GiB or more."""

BROKEN: Final = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError)
"""Raised on reading a broken archive, besides an `OSError` without a number."""


class Member(NamedTuple):
    name: str
    size: int


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressing gzip, bzip2 and xz."""
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
    """Return the next regular file; raise `TarError` for anything else."""
    head = _head(stream)
    if head.type != tarfile.XHDTYPE:
        return Member(head.name, head.size)
    if not 0 < head.size <= _BLOCK:
        raise tarfile.ReadError("a header is too large")
    record = _LONG_SIZE.fullmatch(b"".join(contents(stream, head.size)))
    if record is None:
        raise tarfile.ReadError("a header has unexpected content")
    return Member(_head(stream, tarfile.REGTYPE).name, int(record[1]))


def contents(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield `size` bytes in pieces and skip to the next header; raise `TarError` if the stream ends early."""
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
        raise tarfile.ReadError("it contains something other than regular files")
    return head


class _Xz(io.RawIOBase):
    """An xz decompressor that, unlike `lzma.LZMAFile`, limits the memory a file can demand."""

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
                # As with gzip and bzip2, streams can be concatenated.
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
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_XZ_MEMORY)


FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
MAX_MANIFEST_BYTES: Final = 65_536
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)


class FileEntry(Struct, frozen=True):
    bytes: Annotated[int, Meta(ge=0)]
    sha256: str
    revision: str


class Manifest(Struct, frozen=True):
    format: int
    version: str
    """The Cloud Console version that wrote the backup."""
    made_at: str
    files: dict[DatabaseName, FileEntry]


def describe(folder: Path, revisions: dict[DatabaseName, str], made_at: int) -> Manifest:
    """Return the manifest of the copies in a directory."""
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
    """Unpack a backup into a directory; raise `StoreError` unless it is complete and matches its manifest."""
    try:
        with unpacked(file) as stream:
            manifest = _read_manifest(stream, file)
            _reject_without_space(file, manifest, folder)
            for part in DATABASE_NAMES:
                _extract(stream, part, manifest.files[part], folder, file)
    except BROKEN as problem:
        raise _invalid_backup(file, problem) from problem
    except OSError as problem:
        # Some decompressors raise it without a number; I/O errors have one.
        if problem.errno is None:
            raise _invalid_backup(file, problem) from problem
        raise
    return manifest


def _invalid_backup(file: Path, problem: Exception) -> StoreError:
    return StoreError(f"{file} is not a complete backup: {problem}", f"{file} 不是完整的备份：{problem}")


def _entry(file: Path, revision: str) -> FileEntry:
    with file.open("rb") as content:
        return FileEntry(file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest(), revision)


def _read_manifest(stream: IO[bytes], file: Path) -> Manifest:
    head = next_member(stream)
    if head.name != MANIFEST or head.size > MAX_MANIFEST_BYTES:
        raise StoreError(
            f"{file} is not a backup: it does not start with {MANIFEST}", f"{file} 不是备份：开头不是 {MANIFEST}"
        )
    try:
        manifest = msgspec.json.decode(b"".join(contents(stream, head.size)), type=Manifest)
    except msgspec.MsgspecError as problem:
        raise StoreError(
            f"{file} is not a backup: its manifest cannot be read: {problem}",
            f"{file} 不是备份：无法读取其清单：{problem}",
        ) from problem
    if manifest.format > FORMAT:
        raise StoreError(
            f"{file} was created by a newer Cloud Console ({manifest.version}): install that version",
            f"{file} 由更新版本的 Cloud Console（{manifest.version}）创建：请安装该版本",
        )
    if not (_MOMENT.fullmatch(manifest.made_at) and manifest.version.isprintable()):
        raise StoreError(
            f"{file} is not a backup: its manifest has no valid time and version",
            f"{file} 不是备份：其清单中没有有效的时间和版本",
        )
    if set(manifest.files) != set(DATABASE_NAMES):
        raise StoreError(
            f"{file} is not a backup: its manifest does not name both databases",
            f"{file} 不是备份：其清单未列出两个数据库",
        )
    return manifest


def _reject_without_space(file: Path, manifest: Manifest, folder: Path) -> None:
    """Reject a backup that would fill the disk of a running console."""
    needed = sum(entry.bytes for entry in manifest.files.values())
    free = max(0, shutil.disk_usage(folder).free - MIN_FREE)
    if needed > free:
        raise StoreError(
            f"{file} needs {needed} bytes, and {free} are available: free some space, or pass --to DIR elsewhere",
            f"{file} 需要 {needed} 字节，可用 {free} 字节：请释放空间，或用 --to DIR 指定其他位置",
        )


def _extract(stream: IO[bytes], part: DatabaseName, entry: FileEntry, folder: Path, file: Path) -> None:
    """Extract the expected next file; names in the archive are never used as paths."""
    target = database_file(folder, part)
    try:
        member = next_member(stream)
    except tarfile.HeaderError:
        member = None
    if member != (target.name, entry.bytes):
        raise StoreError(
            f"{file} is not a complete backup: {target.name} is missing or has another size",
            f"{file} 不是完整的备份：{target.name} 缺失或大小不符",
        )
    target.touch(mode=0o600)
    digest = hashlib.sha256()
    with target.open("wb") as copy:
        for piece in contents(stream, entry.bytes):
            digest.update(piece)
            copy.write(piece)
    if digest.hexdigest() != entry.sha256:
        raise StoreError(
            f"{file} is damaged: {target.name} does not match its manifest; use another backup",
            f"{file} 已损坏：{target.name} 与清单不符；请使用其他备份",
        )
