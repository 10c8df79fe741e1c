"""Where a database is: what an address leaves open, what it may say itself, and how it is told to people."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from cloudconsole.store.base import StoreError
from cloudconsole.store.postgres import dsn
from cloudconsole.store.postgres.dsn import Dsn, holds_password, parse, without_password

HERE = "postgresql://console@127.0.0.1/cloud"

PROVED = "postgresql://db.example.com/cloud?sslmode=verify-full"


@pytest.fixture
def authorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of what the system trusts; nobody has said otherwise."""
    monkeypatch.delenv("PGSSLROOTCERT", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "authorities.pem"
    file.touch()
    monkeypatch.setattr(dsn, "_CA_FILES", (str(tmp_path / "neither.pem"), str(file)))
    return file


def parameters(given: str, password_file: Path | None = None) -> dict[str, object]:
    return dict(conninfo_to_dict(Dsn(given, password_file).conninfo()))


def test_manners_are_put_in() -> None:
    found = parameters(HERE)
    assert (found["application_name"], found["target_session_attrs"]) == ("cloudconsole", "read-write")
    assert "lock_timeout=10s" in str(found["options"])
    assert "idle_in_transaction_session_timeout=30s" in str(found["options"])


def test_what_the_address_says_itself_goes_before() -> None:
    found = parameters(f"{HERE}?connect_timeout=9&target_session_attrs=primary&application_name=mine")
    assert (found["connect_timeout"], found["target_session_attrs"]) == ("9", "primary")
    assert found["application_name"] == "mine"


def test_options_come_after_ours_so_that_they_hold() -> None:
    options = str(parameters(f"{HERE}?options=-c%20lock_timeout%3D1s")["options"])
    assert options.index("lock_timeout=10s") < options.index("lock_timeout=1s")


@pytest.mark.parametrize(
    "given",
    [HERE, "postgresql:///cloud", "postgresql://localhost/cloud", "postgresql://[::1]/cloud", "host=/run/pg dbname=c"],
)
def test_on_this_machine_nobody_has_to_prove_anything(given: str) -> None:
    assert "sslmode" not in parameters(given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://db.example.com/cloud",
        "postgresql://10.0.0.1/cloud",
        "postgresql://127.0.0.1,db.example.com/cloud",
        "hostaddr=10.0.0.1 dbname=cloud",
        "host=localhost hostaddr=10.0.0.1 dbname=cloud",
    ],
)
def test_over_a_network_the_server_has_to_prove_who_it_is(given: str, authorities: Path) -> None:
    found = parameters(given)
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-full", str(authorities))


@pytest.mark.parametrize("given", ["postgresql://db.example.com/cloud", HERE])
def test_full_proof_that_was_asked_for_is_by_the_systems_authorities(given: str, authorities: Path) -> None:
    found = parameters(f"{given}?sslmode=verify-full")
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-full", str(authorities))


def test_a_certificate_that_the_environment_names_goes_before_the_systems(
    authorities: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert authorities.exists()
    monkeypatch.setenv("SSL_CERT_FILE", __file__)
    assert parameters(PROVED)["sslrootcert"] == __file__
    monkeypatch.setenv("PGSSLROOTCERT", "/ca.pem")
    assert "sslrootcert" not in parameters(PROVED)


def test_so_does_one_at_home(authorities: Path, tmp_path: Path) -> None:
    assert authorities.exists()
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql/root.crt").touch()
    assert "sslrootcert" not in parameters(PROVED)


def test_where_the_system_has_no_file_libpq_looks_by_itself(authorities: Path) -> None:
    authorities.unlink()
    assert parameters(PROVED)["sslrootcert"] == "system"


def test_how_much_proof_is_enough_can_be_said() -> None:
    found = parameters("postgresql://db.example.com/cloud?sslmode=verify-ca&sslrootcert=/ca.pem")
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-ca", "/ca.pem")


def test_several_hosts_stay_in_their_order() -> None:
    found = parameters("postgresql://console@a.example:5433,b.example/cloud")
    assert (found["host"], found["port"]) == ("a.example,b.example", "5433,")


def test_the_password_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "password"
    database = Dsn(HERE, file)
    for password in ("first", "second 'and' \\ more", "  spaces stay  "):
        file.write_text(f"{password}\n")
        assert conninfo_to_dict(database.conninfo())["password"] == password


def test_a_password_file_goes_before_a_password_in_the_address(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from the file")
    found = parameters("postgresql://console:given@localhost/cloud", tmp_path / "password")
    assert found["password"] == "from the file"


def test_a_password_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^database_password_file: .*/none cannot be read: No such file"):
        Dsn(HERE, tmp_path / "none").conninfo()


def test_a_password_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="is not UTF-8 text"):
        Dsn(HERE, tmp_path / "password").conninfo()


@pytest.mark.parametrize("given", ["postgresql://h/d?no_such=1", "postgresql://[::1/d", "host='", "nonsense"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse(given)


@pytest.mark.parametrize("wanted", ["any", "read-only", "standby", "prefer-standby"])
def test_a_server_that_takes_no_writes_cannot_be_wanted(wanted: str) -> None:
    with pytest.raises(ValueError, match=r"^target_session_attrs must be read-write or primary, or be omitted$"):
        parse(f"{HERE}?target_session_attrs={wanted}")


@pytest.mark.parametrize(
    "password", ["se@cret", "se/cret", "12/cret", "se@c/ret", "se/c@ret", "se@c:ret", "@secret", "se@cret,", "se@c#ret"]
)
def test_a_password_that_is_not_escaped_is_refused_without_a_word_of_it(password: str) -> None:
    with pytest.raises(ValueError, match=r"^write each @, / and : of the password as %40, %2F and %3A") as refused:
        parse(f"postgresql://console:{password}@db.example.com/cloud")
    assert "ret" not in str(refused.value)


def test_an_escaped_password_is_taken() -> None:
    found = parse("postgresql://console:s%40e%2Fcr%3Aet?x@db.example.com:5433,b:5434/cloud")
    assert (found["password"], found["host"], found["port"]) == ("s@e/cr:et?x", "db.example.com,b", "5433,5434")


def test_a_socket_and_a_user_with_signs_in_their_names_are_taken() -> None:
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
def test_people_are_told_no_password(given: str, shown: str) -> None:
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
def test_an_address_to_be_shown_leads_to_the_same_place_without_the_password(given: str) -> None:
    shown = without_password(given)
    assert "cret" not in shown
    assert holds_password(given)
    assert not holds_password(shown)
    rest = {name: value for name, value in parse(given).items() if "password" not in name}
    assert parse(shown) == rest


def test_an_address_without_a_password_is_shown_as_it_is() -> None:
    assert without_password(HERE) == HERE
