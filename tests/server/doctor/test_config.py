"""Doctor checks of settings; checks that need an invalid setting are skipped."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cloudconsole.server.config.settings import SETTINGS, Settings
from cloudconsole.server.doctor.config import read_case
from cloudconsole.server.doctor.context_and_findings import DoctorContext
from cloudconsole.server.doctor.runner import CHECKS, run_checks
from tests.conftest import SAMPLE_TIME
from tests.harness import CERTIFICATES
from tests.server.doctor.conftest import Check


def case_of(environment: Mapping[str, str] = {}, /, **flags: str) -> DoctorContext:
    return read_case(environment, flags, SAMPLE_TIME, quick=True)


def skipped_checks(case: DoctorContext) -> set[str]:
    """Return the checks that were skipped because of an invalid setting."""
    return {result.check for result in run_checks(case) if result.text.startswith("skipped: invalid value of ")}


def test_every_invalid_setting_is_reported_and_the_rest_used() -> None:
    environment = {"CLOUDCONSOLE_PORT": "x", "CLOUDCONSOLE_NOPE": "1", "CLOUDCONSOLE_WORKERS": "3", "OTHER": "x"}
    case = case_of(environment, currency="money", time_zone="Asia/Shanghai")
    assert [problem.partition(":")[0] for problem in case.setting_problems] == [
        "CLOUDCONSOLE_PORT",
        "CLOUDCONSOLE_NOPE",
        "--currency",
    ]
    assert (case.settings.workers, case.settings.time_zone) == (3, "Asia/Shanghai")
    assert case.unknown == {"port", "currency"}


def test_invalid_data_directory_skips_its_checks(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    case = case_of(data=str(tmp_path / "file"), port="0")
    assert skipped_checks(case) == {name for name, check in CHECKS.items() if "data" in check.needs}
    assert {"data directory", "databases", "operators"} <= skipped_checks(case)


@pytest.mark.parametrize("invalid", [{"port": "x"}, {"host": "a b"}, {"tls_certificate": "c.pem"}])
def test_invalid_address_skips_the_running_console_check(data: Path, invalid: dict[str, str]) -> None:
    assert "running console" in skipped_checks(case_of(data=str(data), **invalid))


def test_checks_that_need_an_invalid_setting_are_skipped(data: Path) -> None:
    for name in {name for check in CHECKS.values() for name in check.needs}:
        settings = Settings(data=data, port=0)
        skipped = skipped_checks(DoctorContext(settings, ["wrong"], SAMPLE_TIME, unknown=frozenset({name})))
        assert skipped == {title for title, check in CHECKS.items() if name in check.needs}


def test_invalid_flag_does_not_fall_back_to_the_config_file(tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text("port = 9000\n")
    case = case_of(config=str(file), port="x")
    assert case.unknown == {"port"}
    assert case.settings.port != 9000


def test_valid_flag_overrides_an_invalid_variable() -> None:
    case = case_of({"CLOUDCONSOLE_PORT": "x"}, port="9000")
    assert (case.settings.port, len(case.setting_problems)) == (9000, 1)
    assert not case.unknown


def test_misspelt_variable_makes_the_intended_setting_unknown() -> None:
    assert case_of({"CLOUDCONSOLE_PROT": "9000"}).unknown == {"port"}


def test_conflicting_settings_are_reported() -> None:
    case = case_of(hosts="a.example", public_origin="https://b.example", workers="2")
    assert case.setting_problems == ["hosts: add b.example, the host of public_origin, or remove hosts"]
    assert case.settings.workers == 2
    assert case.unknown == {"hosts", "public_origin"}


def test_every_invalid_line_of_a_config_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text('port = "x"\nnope = 1\nworkers = 3\n')
    case = case_of(config=str(file))
    assert [problem.removeprefix(f"{file}: ").partition(":")[0] for problem in case.setting_problems] == [
        "port",
        "nope",
    ]
    assert case.settings.workers == 3
    assert case.unknown == {"port"}


def test_malformed_config_file_makes_all_settings_unknown(tmp_path: Path) -> None:
    file = tmp_path / "console.toml"
    file.write_text("port: 8000\n")
    case = case_of(config=str(file), workers="2")
    (problem,) = case.setting_problems
    assert problem.startswith(f"--config: {file}: not TOML")
    assert case.settings.workers == 2
    assert case.unknown == set(SETTINGS) - {"workers"}


def test_incomplete_settings_are_reported_and_the_rest_used() -> None:
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
def test_every_conflict_names_given_settings(given: dict[str, str]) -> None:
    case = case_of(**given)
    assert case.setting_problems
    assert case.unknown & set(given)


def test_unusable_certificate_files_are_reported(check: Check, tmp_path: Path) -> None:
    (finding,) = check("settings", tls_certificate=tmp_path / "none.pem", tls_key=CERTIFICATES / "ec-key.pem")
    assert finding.level == "problem"
    assert finding.text.startswith("tls_certificate: ")
