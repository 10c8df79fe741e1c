"""Atomic output files, whatever exists at their path."""

import os
from pathlib import Path
from stat import S_IMODE

import pytest

from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.maintenance.backup import atomic_output, reject_output_file


def write(file: Path, content: bytes) -> None:
    with atomic_output(file) as outfile, outfile.opened() as target:
        target.write(content)


def test_output_file_is_private_even_if_the_old_one_was_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o666)
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_old_file_remains_if_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(TypeError), atomic_output(tmp_path / "file") as outfile, outfile.opened() as target:
        target.writelines([b"half of", None])  # type: ignore[list-item]
    assert (tmp_path / "file").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_symlink_created_meanwhile_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    with atomic_output(tmp_path / "file") as outfile, outfile.opened() as target:
        (tmp_path / "file").symlink_to("precious")
        target.write(b"new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_temporary_file_is_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with atomic_output(tmp_path / "file") as outfile, outfile.opened():
        assert S_IMODE(outfile.folder.stat().st_mode) == 0o700
        assert S_IMODE(outfile.complete.stat().st_mode) == 0o600


def test_error_names_a_directory_created_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(OperatorError) as error, atomic_output(tmp_path / "file") as outfile, outfile.opened():
        (tmp_path / "file").mkdir()
    assert str(error.value) == f"{tmp_path}/file cannot be written: Is a directory"


def test_anything_but_a_regular_file_is_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/null"), tmp_path):
        with pytest.raises(OperatorError, match="is not a regular file: choose another name"):
            reject_output_file(file)
    (tmp_path / "target").touch()
    for target in ("target", "not there"):
        (tmp_path / f"link to {target}").symlink_to(target)
        with pytest.raises(OperatorError, match="is a symbolic link, which is not followed: choose another name"):
            reject_output_file(tmp_path / f"link to {target}")


def test_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError) as error:
        reject_output_file(tmp_path / "none/file")
    message = f"{tmp_path}/none/file cannot be written: there is no directory {tmp_path}/none: create it first"
    assert str(error.value) == message


def test_only_too_long_file_names_are_rejected(tmp_path: Path) -> None:
    write(tmp_path / ("x" * 255), b"new")
    with pytest.raises(OperatorError, match="cannot be written: File name too long"):
        write(tmp_path / ("x" * 256), b"new")
