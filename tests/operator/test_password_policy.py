"""The policy for new passwords."""

import pytest

from cloudconsole.core.resources import Role
from cloudconsole.operator.password_policy import PasswordPolicy


@pytest.mark.parametrize(
    ("role", "min_length", "shortest"),
    [("tenant", 8, 8), ("operator", 8, 12), ("tenant", 10, 10), ("operator", 10, 12), ("operator", 20, 20)],
)
def test_the_setting_raises_the_minimum_of_a_role_but_never_lowers_it(
    role: Role, min_length: int, shortest: int
) -> None:
    policy = PasswordPolicy(min_length)
    password = "Xy7-" * 5
    assert policy.problem(password[:shortest], role) is None
    assert f"{shortest} to 1024 characters" in str(policy.problem(password[: shortest - 1], role))


@pytest.mark.parametrize("password", ["password", "PassWord", "password ", "qwertyuiop", "iloveyou", "1q2w3e4r5t6y"])
def test_a_common_password_is_rejected_in_any_case(password: str) -> None:
    assert "most common" in str(PasswordPolicy().problem(password, "tenant"))


def test_a_password_of_few_different_characters_is_rejected() -> None:
    assert "4 different characters" in str(PasswordPolicy().problem("abababababab", "operator"))


def test_the_rejection_does_not_repeat_the_password() -> None:
    assert "iloveyou" not in str(PasswordPolicy().problem("iloveyou", "tenant"))
