"""A version of uvicorn or psycopg that lacks a name we rely on is reported at start."""

import tomllib
from pathlib import Path

import psycopg
import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from cloudconsole.cli.main import main
from cloudconsole.core.private_api_check import IncompatibleDependency, require_names
from cloudconsole.server.runtime.uvicorn_check import USED, VERSIONS, require_uvicorn
from cloudconsole.store.base import StoreError
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PSYCOPG_VERSIONS, PostgresStore


def test_serve_reports_a_missing_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_uvicorn()
    monkeypatch.delattr(HttpToolsProtocol, "on_header")
    assert main(["serve", "--port", "0", "--data", str(tmp_path / "data")]) == 1
    error = capsys.readouterr().err
    assert "lacks HttpToolsProtocol.on_header" in error
    assert f"install uvicorn{VERSIONS}" in error
    assert not (tmp_path / "data").exists()


def test_a_missing_attribute_is_named() -> None:
    renamed = {RequestResponseCycle: (*USED[RequestResponseCycle], "is_disconnected"), HttpToolsProtocol: ("queue",)}
    with pytest.raises(IncompatibleDependency, match=r"lacks HttpToolsProtocol\.queue, RequestResponseCycle\.is_dis"):
        require_names("uvicorn", VERSIONS, (), renamed)


def test_postgresql_store_reports_a_missing_method(monkeypatch: pytest.MonkeyPatch) -> None:
    address = Dsn("postgresql://127.0.0.1/console")
    PostgresStore(address)
    owner = next(base for base in psycopg.Connection.__mro__ if "_connect_gen" in vars(base))
    monkeypatch.delattr(owner, "_connect_gen")
    with pytest.raises(StoreError, match=r"lacks Connection\._connect_gen"):
        PostgresStore(address)


def test_suggested_versions_are_the_declared_range() -> None:
    extras = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert f"uvicorn{VERSIONS}" in extras["server"]
    assert f"psycopg[binary]{PSYCOPG_VERSIONS}" in extras["postgres"]
