"""Text of flags and forms, the policy for new passwords, the sample, and the actor of a command."""

import os
import pwd
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.core.resources import QUOTA_USES, Role
from cloudconsole.operator.parsing import parse_json, parse_number, parse_switch
from cloudconsole.operator.password_policy import PasswordPolicy
from cloudconsole.operator.sample import SAMPLE_PASSWORDS
from cloudconsole.operator.transaction import os_user_name
from cloudconsole.store import tables
from cloudconsole.store.passwords import password_matches
from tests.operator.clouds import by_name, rows
from tests.stores import opened


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_number, "-07", -7),
        (parse_number, "9" * 18, 10**18 - 1),
        (parse_switch, "true", True),
        (parse_switch, "false", False),
        (parse_json, '{"a": [1.10, null]}', {"a": [Decimal("1.10"), None]}),
    ],
)
def test_text_is_parsed(parse: Callable[[str], Any], text: str, value: Any) -> None:
    assert str(parse(text)) == str(value)


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_number, "1.0", "must be a whole number"),
        (parse_number, "", "must be a whole number"),
        (parse_number, "9" * 19, "must be at most 2147483647"),
        (parse_switch, "True", "must be true or false"),
        (parse_json, '{"a":\n 1 2}', "must be JSON; line 2, column 4: expecting ',' delimiter"),
        (parse_json, "NaN", "must be JSON"),
        (parse_json, "[" * 100_000, "must be JSON"),
    ],
)
def test_malformed_text_is_rejected(parse: Callable[[str], Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse(text)


@pytest.mark.parametrize(
    ("role", "min_length", "shortest"),
    [("tenant", 8, 8), ("operator", 8, 12), ("tenant", 10, 10), ("operator", 10, 12), ("operator", 20, 20)],
)
def test_setting_raises_the_minimum_of_a_role_but_never_lowers_it(role: Role, min_length: int, shortest: int) -> None:
    policy = PasswordPolicy(min_length)
    password = "Xy7-" * 5
    assert policy.problem(password[:shortest], role) is None
    assert f"{shortest} to 1024 characters" in str(policy.problem(password[: shortest - 1], role))


@pytest.mark.parametrize("password", ["password", "PassWord", "password ", "qwertyuiop", "iloveyou", "1q2w3e4r5t6y"])
def test_common_password_is_rejected_in_any_case_and_not_repeated(password: str) -> None:
    message = "this is one of the most common passwords: choose another one"
    assert PasswordPolicy().problem(password, "tenant") == message


def test_a_password_of_few_different_characters_is_rejected() -> None:
    assert "4 different characters" in str(PasswordPolicy().problem("abababababab", "operator"))


def test_sample_has_the_published_passwords_and_uses_every_quota(sample_store: Path) -> None:
    with opened(sample_store, "cloud") as engine:
        accounts, usage = by_name(engine, tables.accounts, "username"), rows(engine, tables.usage)
    # Otherwise tests that compare responses with the sample would prove little.
    assert [all(row[name] for name in QUOTA_USES) for row in usage] == [True, True]
    assert {name for name, account in accounts.items() if account["role"] == "operator"} == {"operator"}
    assert accounts.keys() == SAMPLE_PASSWORDS.keys()
    for username, password in SAMPLE_PASSWORDS.items():
        assert password_matches(accounts[username]["password_hash"], password)


def test_environment_variables_cannot_change_the_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "mallory")
    assert os_user_name() == pwd.getpwuid(os.getuid()).pw_name != "mallory"


def test_user_without_a_name_is_shown_by_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    uid = 2**31 - 7
    monkeypatch.setattr(os, "getuid", lambda: uid)
    assert os_user_name() == f"user {uid}"
