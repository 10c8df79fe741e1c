"""Sealed tokens: opened by who has the keys, also after these were rotated under way."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from cloudconsole.backends.openstack.token_encryption import KeyFileError, TokenCipher, read_keys, rotate_keys

TOKEN = "gAAAA-the-token"


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token-keys"


def test_what_is_sealed_is_opened_again(file: Path) -> None:
    seals = TokenCipher(file)
    assert seals.decrypt(seals.encrypt(TOKEN)) == TOKEN


def test_what_is_sealed_shows_nothing_and_never_looks_the_same(file: Path) -> None:
    seals = TokenCipher(file)
    one, other = seals.encrypt(TOKEN), seals.encrypt(TOKEN)
    assert one != other
    assert TOKEN.encode() not in one


def test_another_process_opens_it(file: Path) -> None:
    assert TokenCipher(file).decrypt(TokenCipher(file).encrypt(TOKEN)) == TOKEN


@pytest.mark.parametrize("sealed", [b"", b"garbled", b"\xff\0"])
def test_what_was_not_sealed_here_is_nothing(file: Path, sealed: bytes) -> None:
    assert TokenCipher(file).decrypt(sealed) is None


def test_what_was_sealed_elsewhere_is_nothing(file: Path) -> None:
    assert TokenCipher(file).decrypt(TokenCipher(file.with_name("other")).encrypt(TOKEN)) is None


def test_what_was_changed_is_nothing(file: Path) -> None:
    seals = TokenCipher(file)
    sealed = bytearray(seals.encrypt(TOKEN))
    sealed[20] ^= 1
    assert seals.decrypt(bytes(sealed)) is None


def test_keys_that_cannot_be_used_are_refused_at_once(file: Path) -> None:
    file.write_bytes(b"garbled")
    file.chmod(0o600)
    with pytest.raises(KeyFileError):
        TokenCipher(file)


def test_one_rotation_loses_nothing(file: Path) -> None:
    seals = TokenCipher(file)
    sealed = seals.encrypt(TOKEN)
    rotate_keys(file)
    assert seals.decrypt(sealed) == TokenCipher(file).decrypt(sealed) == TOKEN


def test_after_two_rotations_it_cannot_be_opened(file: Path) -> None:
    sealed = TokenCipher(file).encrypt(TOKEN)
    rotate_keys(file)
    rotate_keys(file)
    assert TokenCipher(file).decrypt(sealed) is None


def test_what_another_sealed_under_a_new_key_is_opened_at_once(file: Path) -> None:
    seals = TokenCipher(file, Seconds())
    rotate_keys(file)
    sealed = TokenCipher(file).encrypt(TOKEN)
    assert seals.decrypt(sealed) == TOKEN


@pytest.mark.parametrize(("seconds", "number"), [(0.9, 1), (1.0, 0)])
def test_within_a_second_the_newest_key_is_used(file: Path, seconds: float, number: int) -> None:
    clock = Seconds()
    seals = TokenCipher(file, clock)
    rotate_keys(file)
    clock.now += seconds
    assert Fernet(read_keys(file)[number]).decrypt(seals.encrypt(TOKEN)) == TOKEN.encode()


def test_a_key_that_is_gone_opens_no_more(file: Path) -> None:
    clock = Seconds()
    seals = TokenCipher(file, clock)
    sealed = seals.encrypt(TOKEN)
    rotate_keys(file)
    rotate_keys(file)
    clock.now += 1
    assert seals.decrypt(sealed) is None


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.write_bytes(b"garbled"), lambda file: file.chmod(0o644)]
)
def test_keys_that_become_unusable_go_on_and_are_told(
    file: Path, spoil: object, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Seconds()
    seals = TokenCipher(file, clock)
    sealed = seals.encrypt(TOKEN)
    assert callable(spoil)
    spoil(file)
    clock.now += 1
    assert seals.decrypt(sealed) == seals.decrypt(seals.encrypt(TOKEN)) == TOKEN
    clock.now += 1
    assert seals.decrypt(sealed) == TOKEN
    assert len(caplog.messages) == 1
