"""A backup in one file: a tar of the two databases, led by a manifest that says what they are and proves them whole."""

import hashlib
import io
import re
import shutil
import tarfile
from pathlib import Path
from typing import IO, Annotated, Final

import msgspec
from msgspec import Meta, Struct

from cloudconsole import __version__
from cloudconsole.core.clock import time_text
from cloudconsole.store.engine import PARTS, Part, StoreError
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.folders import LEAST_FREE
from cloudconsole.store.sqlite.unpacking import BROKEN, contents, next_member, unpacked

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
    files: dict[Part, FileEntry]


def describe(folder: Path, revisions: dict[Part, str], made_at: int) -> Manifest:
    """The manifest of the copies in a folder."""
    files = {part: _entry(database_file(folder, part), revisions[part]) for part in PARTS}
    return Manifest(FORMAT, __version__, time_text(made_at), files)


def write_archive(target: IO[bytes], manifest: Manifest, folder: Path) -> None:
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        head = tarfile.TarInfo(MANIFEST)
        head.size, head.mode = len(content), 0o600
        tar.addfile(head, io.BytesIO(content))
        for part in PARTS:
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
            for part in PARTS:
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
    if set(manifest.files) != set(PARTS):
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


def _extract(stream: IO[bytes], part: Part, entry: FileEntry, folder: Path, file: Path) -> None:
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
