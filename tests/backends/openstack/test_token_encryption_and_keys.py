"""Token encryption, including key rotation while the console runs."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from cloudconsole.backends.openstack.token_encryption_and_keys import KeyFileError, TokenCipher, read_keys, rotate_keys

TOKEN = "gAAAA-the-token"


class FakeTimer:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token-keys"


def test_ciphertext_is_opaque_and_unique_and_can_be_decrypted(file: Path) -> None:
    cipher = TokenCipher(file)
    one, other = cipher.encrypt(TOKEN), cipher.encrypt(TOKEN)
    assert one != other
    assert TOKEN.encode() not in one
    assert cipher.decrypt(one) == TokenCipher(file).decrypt(other) == TOKEN


@pytest.mark.parametrize("encrypted", [b"", b"garbled", b"\xff\0"])
def test_garbage_decrypts_to_none(file: Path, encrypted: bytes) -> None:
    assert TokenCipher(file).decrypt(encrypted) is None


def test_invalid_key_file_is_rejected_at_start(file: Path) -> None:
    file.write_bytes(b"garbled")
    file.chmod(0o600)
    with pytest.raises(KeyFileError):
        TokenCipher(file)


def test_token_under_a_new_key_is_decrypted_immediately(file: Path) -> None:
    cipher = TokenCipher(file, FakeTimer())
    rotate_keys(file)
    encrypted = TokenCipher(file).encrypt(TOKEN)
    assert cipher.decrypt(encrypted) == TOKEN


@pytest.mark.parametrize(("seconds", "number"), [(0.9, 1), (1.0, 0)])
def test_new_key_is_used_after_one_second(file: Path, seconds: float, number: int) -> None:
    clock = FakeTimer()
    cipher = TokenCipher(file, clock)
    rotate_keys(file)
    clock.now += seconds
    assert Fernet(read_keys(file)[number]).decrypt(cipher.encrypt(TOKEN)) == TOKEN.encode()


def test_token_survives_one_rotation_but_not_two(file: Path) -> None:
    clock = FakeTimer()
    cipher = TokenCipher(file, clock)
    encrypted = cipher.encrypt(TOKEN)
    rotate_keys(file)
    assert TokenCipher(file).decrypt(encrypted) == TOKEN
    rotate_keys(file)
    clock.now += 1
    assert cipher.decrypt(encrypted) is None


@pytest.mark.parametrize(
    "break_file", [Path.unlink, lambda file: file.write_bytes(b"garbled"), lambda file: file.chmod(0o644)]
)
def test_broken_key_file_keeps_the_old_keys_and_is_logged(
    file: Path, break_file: object, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeTimer()
    cipher = TokenCipher(file, clock)
    encrypted = cipher.encrypt(TOKEN)
    assert callable(break_file)
    break_file(file)
    clock.now += 1
    assert cipher.decrypt(encrypted) == cipher.decrypt(cipher.encrypt(TOKEN)) == TOKEN
    clock.now += 1
    assert cipher.decrypt(encrypted) == TOKEN
    assert len(caplog.messages) == 1
