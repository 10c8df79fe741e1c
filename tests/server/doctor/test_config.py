"""What the doctor says about settings, and that it looks at nothing else in place of what is wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.doctor.config import read_case
from cloudconsole.server.doctor.results import DoctorContext
from cloudconsole.server.doctor.runner import CHECKS, run_checks
from tests.conftest import NOON
from tests.harness import CERTIFICATES
from tests.server.doctor.conftest import Check


def case_of(environment: Mapping[str, str] = {}, /, **flags: str) -> DoctorContext:
    return read_case(environment, flags, NOON, quick=True)


def not_looked_at(case: DoctorContext) -> set[str]:
    """The checks that were left out for want of a setting."""
    return {result.check for result in run_checks(case) if result.text.startswith("skipped: invalid value of ")}


def test_every_wrong_setting_is_told_and_the_rest_is_used() -> None:
    environment = {"CLOUDCONSOLE_PORT": "x", "CLOUDCONSOLE_NOPE": "1", "CLOUDCONSOLE_WORKERS": "3", "OTHER": "x"}
    case = case_of(environment, currency="money", time_zone="Asia/Shanghai")
    assert [problem.partition(":")[0] for problem in case.setting_problems] == [
        "CLOUDCONSOLE_PORT",
        "CLOUDCONSOLE_NOPE",
        "--currency",
    ]
    assert (case.settings.workers, case.settings.time_zone) == (3, "Asia/Shanghai")
    assert case.unknown == {"port", "currency"}


def test_nothing_else_is_looked_at_instead_of_a_folder_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    case = case_of(data=str(tmp_path / "file"), port="0")
    assert not_looked_at(case) == {name for name, check in CHECKS.items() if "data" in check.needs}
    assert {"data directory", "databases", "operators"} <= not_looked_at(case)


@pytest.mark.parametrize("wrong", [{"port": "x"}, {"host": "a b"}, {"tls_certificate": "c.pem"}])
def test_no_other_console_is_called_instead_of_one_whose_place_is_wrong(data: Path, wrong: dict[str, str]) -> None:
    assert "running console" in not_looked_at(case_of(data=str(data), **wrong))


def test_every_check_is_left_out_that_would_use_a_wrong_setting(data: Path) -> None:
    for name in {name for check in CHECKS.values() for name in check.needs}:
        settings = Settings(data=data, port=0)
        left_out = not_looked_at(DoctorContext(settings, ["wrong"], NOON, unknown=frozenset({name})))
        assert left_out == {check for check, given in CHECKS.items() if name in given.needs}


def test_a_wrong_flag_is_not_replaced_by_the_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text("port = 9000\n")
    case = case_of(config=str(file), port="x")
    assert case.unknown == {"port"}
    assert case.settings.port != 9000


def test_a_right_flag_goes_before_a_wrong_variable() -> None:
    case = case_of({"CLOUDCONSOLE_PORT": "x"}, port="9000")
    assert (case.settings.port, len(case.setting_problems)) == (9000, 1)
    assert not case.unknown


def test_a_misspelt_setting_leaves_unknown_what_was_meant() -> None:
    assert case_of({"CLOUDCONSOLE_PROT": "9000"}).unknown == {"port"}


def test_settings_that_do_not_go_together_are_told() -> None:
    case = case_of(hosts="a.example", public_origin="https://b.example", workers="2")
    assert case.setting_problems == ["hosts: add b.example, the host of public_origin, or remove hosts"]
    assert case.settings.workers == 2
    assert case.unknown == {"hosts", "public_origin"}


def test_every_line_that_is_wrong_in_a_settings_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text('port = "x"\nnope = 1\nworkers = 3\n')
    case = case_of(config=str(file))
    assert [problem.removeprefix(f"{file}: ").partition(":")[0] for problem in case.setting_problems] == [
        "port",
        "nope",
    ]
    assert case.settings.workers == 3
    assert case.unknown == {"port"}


def test_of_a_settings_file_that_is_no_toml_nothing_is_known(tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text("port: 8000\n")
    case = case_of(config=str(file), workers="2")
    (problem,) = case.setting_problems
    assert problem.startswith(f"--config: {file}: not TOML")
    assert case.settings.workers == 2
    assert case.unknown == set(SETTINGS) - {"workers"}


def test_a_setting_that_lacks_another_is_told_and_the_rest_is_used() -> None:
    case = case_of(tls_certificate="c.pem", workers="2")
    (problem,) = case.setting_problems
    assert problem.startswith("tls_key: set the key of tls_certificate")
    assert (case.settings.tls_certificate, case.settings.workers) == (None, 2)


@pytest.mark.parametrize(
    "given",
    [
        {"hosts": "a.example", "public_origin": "https://b.example"},
        {"tls_certificate": "c.pem"},
        {"tls_key": "k.pem"},
        {"tls_certificate": "c.pem", "tls_key": "k.pem", "public_origin": "http://a.example"},
        {"metrics": "127.0.0.1:8000"},
        {"metrics": "127.0.0.1:8000", "tls_key": "k.pem", "hosts": "a.example", "public_origin": "https://b.example"},
    ],
)
def test_every_contradiction_names_settings_that_were_given(given: dict[str, str]) -> None:
    case = case_of(**given)
    assert case.setting_problems
    assert case.unknown & set(given)


def test_certificate_files_that_cannot_be_used_are_told(check: Check, tmp_path: Path) -> None:
    (finding,) = check("settings", tls_certificate=tmp_path / "none.pem", tls_key=CERTIFICATES / "ec-key.pem")
    assert finding.level == "problem"
    assert finding.text.startswith("tls_certificate: ")
