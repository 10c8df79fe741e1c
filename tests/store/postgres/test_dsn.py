"""DSNs: default and explicit parameters, TLS, passwords and redaction."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from cloudconsole.store.base import StoreError
from cloudconsole.store.postgres import dsn
from cloudconsole.store.postgres.dsn import Dsn, holds_password, parse, without_password

LOCAL = "postgresql://console@127.0.0.1/cloud"

VERIFIED = "postgresql://db.example.com/cloud?sslmode=verify-full"


@pytest.fixture
def ca_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The CA file of the system, with no other one configured."""
    monkeypatch.delenv("PGSSLROOTCERT", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "authorities.pem"
    file.touch()
    monkeypatch.setattr(dsn, "_CA_FILES", (str(tmp_path / "neither.pem"), str(file)))
    return file


def parameters(given: str) -> dict[str, object]:
    return dict(conninfo_to_dict(Dsn(given, None).conninfo()))


def test_default_parameters_are_added() -> None:
    found = parameters(LOCAL)
    assert (found["application_name"], found["target_session_attrs"]) == ("cloudconsole", "read-write")
    assert "lock_timeout=10s" in str(found["options"])
    assert "idle_in_transaction_session_timeout=30s" in str(found["options"])


def test_parameters_of_the_dsn_take_precedence() -> None:
    given = "connect_timeout=9&target_session_attrs=primary&application_name=mine&options=-c%20lock_timeout%3D1s"
    found = parameters(f"{LOCAL}?{given}")
    assert (found["connect_timeout"], found["target_session_attrs"]) == ("9", "primary")
    assert found["application_name"] == "mine"
    options = str(found["options"])
    assert options.index("lock_timeout=10s") < options.index("lock_timeout=1s")
    found = parameters("postgresql://db.example.com/cloud?sslmode=verify-ca&sslrootcert=/ca.pem")
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-ca", "/ca.pem")


@pytest.mark.parametrize(
    "given",
    [LOCAL, "postgresql:///cloud", "postgresql://localhost/cloud", "postgresql://[::1]/cloud", "host=/run/pg dbname=c"],
)
def test_local_server_needs_no_tls(given: str) -> None:
    assert "sslmode" not in parameters(given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://db.example.com/cloud",
        "postgresql://10.0.0.1/cloud",
        "postgresql://127.0.0.1,db.example.com/cloud",
        "hostaddr=10.0.0.1 dbname=cloud",
        "host=localhost hostaddr=10.0.0.1 dbname=cloud",
        VERIFIED,
        f"{LOCAL}?sslmode=verify-full",
    ],
)
def test_remote_or_verified_server_uses_the_system_ca_file(given: str, ca_file: Path) -> None:
    found = parameters(given)
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-full", str(ca_file))


def test_other_ca_files_take_precedence(ca_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ca_file.exists()
    monkeypatch.setenv("SSL_CERT_FILE", __file__)
    assert parameters(VERIFIED)["sslrootcert"] == __file__
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql/root.crt").touch()
    assert "sslrootcert" not in parameters(VERIFIED)
    (tmp_path / ".postgresql/root.crt").unlink()
    monkeypatch.setenv("PGSSLROOTCERT", "/ca.pem")
    assert "sslrootcert" not in parameters(VERIFIED)


def test_libpq_finds_the_ca_if_the_system_has_no_file(ca_file: Path) -> None:
    ca_file.unlink()
    assert parameters(VERIFIED)["sslrootcert"] == "system"


@pytest.mark.parametrize("given", [LOCAL, "postgresql://console:given@localhost/cloud"])
def test_password_file_takes_precedence_and_is_read_each_time(tmp_path: Path, given: str) -> None:
    database = Dsn(given, tmp_path / "password")
    for password in ("first", "second 'and' \\ more", "  spaces stay  "):
        (tmp_path / "password").write_text(f"{password}\n")
        assert conninfo_to_dict(database.conninfo())["password"] == password


def test_unreadable_password_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^database_password_file: .*/none cannot be read: No such file"):
        Dsn(LOCAL, tmp_path / "none").conninfo()
    (tmp_path / "password").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="is not UTF-8 text"):
        Dsn(LOCAL, tmp_path / "password").conninfo()
    (tmp_path / "password").chmod(0o602)
    with pytest.raises(StoreError, match="can be written by every user of this machine"):
        Dsn(LOCAL, tmp_path / "password").conninfo()


@pytest.mark.parametrize("given", ["postgresql://h/d?no_such=1", "postgresql://[::1/d", "host='", "nonsense"])
def test_malformed_dsn_is_rejected(given: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse(given)


@pytest.mark.parametrize("value", ["any", "read-only", "standby", "prefer-standby"])
def test_read_only_server_cannot_be_requested(value: str) -> None:
    with pytest.raises(ValueError, match=r"^target_session_attrs must be read-write or primary, or be omitted$"):
        parse(f"{LOCAL}?target_session_attrs={value}")


@pytest.mark.parametrize(
    "password", ["se@cret", "se/cret", "12/cret", "se@c/ret", "se/c@ret", "se@c:ret", "@secret", "se@cret,", "se@c#ret"]
)
def test_unescaped_password_is_rejected_and_not_shown(password: str) -> None:
    with pytest.raises(ValueError, match=r"^write each @, / and : of the password as %40, %2F and %3A") as error:
        parse(f"postgresql://console:{password}@db.example.com/cloud")
    assert "ret" not in str(error.value)


def test_escaped_password_socket_and_user_are_accepted() -> None:
    found = parse("postgresql://console:s%40e%2Fcr%3Aet?x@db.example.com:5433,b:5434/cloud")
    assert (found["password"], found["host"], found["port"]) == ("s@e/cr:et?x", "db.example.com,b", "5433,5434")
    found = parse("postgresql://us%40er@%2Frun%2Fpg/cloud")
    assert (found["user"], found["host"]) == ("us@er", "/run/pg")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://console:secret@a.example,b.example/cloud", "the database cloud on a.example,b.example"),
        ("postgresql://console:secret@/", "the database console on this machine"),
        ("hostaddr=10.0.0.1 dbname=cloud password=secret", "the database cloud on 10.0.0.1"),
    ],
)
def test_description_contains_no_password(given: str, shown: str) -> None:
    assert str(Dsn(given)) == shown


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://us%40er:s%40e%2Fcret@a.example:5433,b.example:5434/cl%26oud?sslmode=require",
        "postgresql://console:secret@[::1]/cloud",
        "postgresql:///cloud?host=%2Frun%2Fpg&user=console&password=secret&options=-c%20a%3Db",
        "postgresql://console@db.example.com/cloud?sslkey=k%2Bey.pem&sslpassword=secret",
    ],
)
def test_redacted_dsn_is_equivalent_without_the_password(given: str) -> None:
    shown = without_password(given)
    assert "cret" not in shown
    assert holds_password(given)
    assert not holds_password(shown)
    rest = {name: value for name, value in parse(given).items() if "password" not in name}
    assert parse(shown) == rest


def test_dsn_without_a_password_is_not_changed() -> None:
    assert without_password(LOCAL) == LOCAL
