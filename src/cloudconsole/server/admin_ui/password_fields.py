"""Fields for a new password, and their validation."""

from collections.abc import Iterator, Mapping
from typing import Final

from cloudconsole.core.resources import Role
from cloudconsole.operator.errors import FieldError, raise_if_invalid
from cloudconsole.operator.messages import Message
from cloudconsole.operator.password_policy import MINIMUM_LENGTHS, PasswordPolicy
from cloudconsole.server.admin_ui.fields import FormField
from cloudconsole.server.admin_ui.labels import label_of

PASSWORDS: Final = (
    FormField(
        "password",
        label_of("password"),
        Message(
            "At least {tenant} characters, {operator} for operators; more if configured.",
            "至少 {tenant} 个字符，管理员至少 {operator} 个；系统可能要求更长。",
            **MINIMUM_LENGTHS,
        ),
        "password",
        ("password",),
        is_required=True,
    ),
    FormField("password_again", label_of("password_again"), "", "password", ("password_again",), is_required=True),
)


def new_password(fields: Mapping[str, str], policy: PasswordPolicy, role: Role) -> str:
    """Return the validated new password."""
    raise_if_invalid(password_errors(fields, policy, role))
    return fields["password"]


def password_errors(fields: Mapping[str, str], policy: PasswordPolicy, role: Role) -> Iterator[FieldError]:
    password = fields.get("password", "")
    if problem := policy.problem(password, role):
        yield ("password",), problem
    if fields.get("password_again", "") != password:
        yield ("password_again",), Message("differs from the password", "两次输入的密码不一致")
