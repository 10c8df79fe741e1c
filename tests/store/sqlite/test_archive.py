"""Archives crafted to exhaust memory or disk space, and valid compressed ones."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage

import pytest

from cloudconsole.operator.maintenance.backup import write_backup
from cloudconsole.store.base import DATABASE_NAMES, StoreError
from cloudconsole.store.sqlite import archive
from cloudconsole.store.sqlite.archive import MANIFEST, read_archive
from cloudconsole.store.sqlite.engine import database_file

pytestmark = pytest.mark.embedded_only

NOW = 1_800_000_000
HUGE = 16 * 1024 * 1024
MAX_MEMORY = 8 * 1024 * 1024


@pytest.fixture
def backup(data: Path, tmp_path: Path) -> Path:
    write_backup(data, tmp_path / "b.tar", now=NOW)
    return tmp_path / "b.tar"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    return tmp_path / "target"


def header(kind: bytes, size: int, name: str = "header") -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def peak_memory(read: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.GNUTYPE_SPARSE,
        tarfile.SYMTYPE,
        tarfile.DIRTYPE,
    ],
)
@pytest.mark.parametrize("position", ["first", "behind the manifest"])
def test_huge_header_uses_little_memory(backup: Path, target: Path, kind: bytes, position: str) -> None:
    with tarfile.open(backup) as tar:
        size = tar.getmember("cloud.db").offset if position != "first" else 0
    bomb = backup.read_bytes()[:size] + header(kind, HUGE)
    backup.write_bytes(gzip.compress(bomb + bytes(HUGE), compresslevel=1))

    def read() -> None:
        with pytest.raises(StoreError, match="is not a"):
            read_archive(backup, target)

    assert peak_memory(read) < MAX_MEMORY
    assert sum(file.stat().st_size for file in target.iterdir()) == 0


def test_huge_manifest_uses_little_memory(backup: Path, target: Path) -> None:
    backup.write_bytes(gzip.compress(header(tarfile.REGTYPE, HUGE, MANIFEST) + bytes(HUGE), compresslevel=1))

    def read() -> None:
        with pytest.raises(StoreError, match="does not start with"):
            read_archive(backup, target)

    assert peak_memory(read) < MAX_MEMORY


def test_reading_a_valid_backup_uses_little_memory(backup: Path, target: Path) -> None:
    assert peak_memory(lambda: read_archive(backup, target)) < MAX_MEMORY


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (10**17, r"needs 2\d{17} bytes, and \d+ are available: free some space"),
        (-1, "its manifest cannot be read"),
    ],
)
def test_impossible_size_in_the_manifest_is_rejected(backup: Path, target: Path, size: int, message: str) -> None:
    files = ", ".join(f'"{part}": {{"bytes": {size}, "sha256": "", "revision": "0001"}}' for part in DATABASE_NAMES)
    content = f'{{"format": 1, "version": "1", "made_at": "2027-01-15T08:00:00Z", "files": {{{files}}}}}'.encode()
    backup.write_bytes(header(tarfile.REGTYPE, len(content), MANIFEST) + content.ljust(1024, b"\0") + bytes(1024))
    with pytest.raises(StoreError, match=message):
        read_archive(backup, target)


def test_backup_larger_than_free_space_is_rejected(backup: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = disk_usage(target).free
    monkeypatch.setattr(archive, "MIN_FREE", 2 * free)
    with pytest.raises(StoreError, match=r"needs \d+ bytes, and 0 are available: free some space"):
        read_archive(backup, target)
    assert list(target.iterdir()) == []


def test_memory_of_xz_is_limited(backup: Path, target: Path) -> None:
    packed = bytearray(lzma.compress(backup.read_bytes()))
    # After the 12-byte stream header: block size, flags, the LZMA2 filter and its dictionary size.
    end = 12 + (packed[12] + 1) * 4
    assert packed[14:16] == b"\x21\x01"
    packed[16] = 40  # 4 GiB
    packed[end - 4 : end] = zlib.crc32(packed[12 : end - 4]).to_bytes(4, "little")
    backup.write_bytes(packed)
    with pytest.raises(StoreError, match="is not a complete backup: Memory usage limit exceeded"):
        read_archive(backup, target)


Compress = Callable[[bytes], bytes]
COMPRESSIONS = [gzip.compress, bz2.compress, lzma.compress]


@pytest.mark.parametrize("compress", [*COMPRESSIONS, lambda content: lzma.compress(content, preset=9)])
@pytest.mark.parametrize("split_at", [0, 5000], ids=["one stream", "two streams"])
def test_compressed_backups_are_accepted(backup: Path, target: Path, compress: Compress, split_at: int) -> None:
    read_archive(backup, target)
    plain = {part: database_file(target, part).read_bytes() for part in DATABASE_NAMES}
    content = backup.read_bytes()
    backup.write_bytes((compress(content[:split_at]) if split_at else b"") + compress(content[split_at:]))
    read_archive(backup, target)
    assert {part: database_file(target, part).read_bytes() for part in DATABASE_NAMES} == plain


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def spoilt(content: bytes) -> bytes:
    return content[:200] + b"spoilt" + content[206:]


@pytest.mark.parametrize("corrupt", [half, spoilt, lambda _content: b"this is no backup" * 1000])
@pytest.mark.parametrize("compress", [bytes, *COMPRESSIONS])
def test_damaged_backup_is_rejected(backup: Path, target: Path, compress: Compress, corrupt: Compress) -> None:
    backup.write_bytes(corrupt(compress(backup.read_bytes())))
    with pytest.raises(StoreError, match="is not a"):
        read_archive(backup, target)


def repack(backup: Path, **headers: str) -> None:
    """Rewrite the backup with an extended header for each file."""
    with tarfile.open(backup) as tar:
        contents = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    with tarfile.open(backup, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.pax_headers = {key: value.format(size=len(content)) for key, value in headers.items()}
            tar.addfile(member, io.BytesIO(content))


def test_size_is_read_from_the_extended_header(backup: Path, target: Path) -> None:
    repack(backup, size="{size}")
    assert set(read_archive(backup, target).files) == set(DATABASE_NAMES)


@pytest.mark.parametrize("headers", [{"path": "cloud.db"}, {"size": "-5"}, {"size": "{size}", "uid": "1"}])
def test_extended_header_with_other_content_is_rejected(backup: Path, target: Path, headers: dict[str, str]) -> None:
    repack(backup, **headers)
    with pytest.raises(StoreError, match="a header has unexpected content"):
        read_archive(backup, target)
