"""Forms that arrive without a session: the sign-in page carries them, encrypted, until the same account signs in."""

import hashlib
from base64 import urlsafe_b64encode
from hmac import compare_digest
from typing import Final, NamedTuple

import msgspec
from cryptography.fernet import Fernet, InvalidToken

from cloudconsole.spec.errors import LoginRequired

OWNER_FIELD: Final = "owner"
"""Hidden field of a form that binds it to the account for which it was rendered."""
UNSAVED_FIELD: Final = "unsaved"
"""Hidden field of the sign-in page."""
TOKEN_FIELD: Final = "csrfmiddlewaretoken"  # noqa: S105 - a name
PASSWORD_FIELDS: Final = frozenset({"password", "password_again"})

MAX_UNSAVED: Final = 32_768
"""Bytes of a form that is carried."""
MAX_SEALED: Final = 65_536
_SECONDS: Final = 86_400


class UnsavedForm(NamedTuple):
    path: str
    query: bytes
    fields: dict[str, str]


class FormUnsaved(LoginRequired):
    """A form of an operator whose session has ended."""

    def __init__(self, sealed: str) -> None:
        super().__init__()
        self.sealed = sealed


class UnsavedForms:
    def __init__(self, key: bytes) -> None:
        self._key = key
        self._fernet = Fernet(
            urlsafe_b64encode(hashlib.blake2b(key=key, digest_size=32, person=b"unsaved form").digest())
        )

    def owner(self, token: str, username: str) -> str:
        """Return the mark of a form with this token that is rendered for an account."""
        text = f"{token} {username}".encode()
        return hashlib.blake2b(text, key=self._key, digest_size=16, person=b"form owner").hexdigest()

    def seal(self, form: UnsavedForm) -> str:
        """Encrypt a form, without its passwords."""
        fields = {name: text for name, text in form.fields.items() if name not in PASSWORD_FIELDS}
        return self._fernet.encrypt(msgspec.json.encode(form._replace(fields=fields))).decode()

    def open(self, sealed: str, username: str) -> UnsavedForm | None:
        """Return the form if it is of this account and not too old."""
        if not sealed or len(sealed) > MAX_SEALED:
            return None
        try:
            form = msgspec.json.decode(self._fernet.decrypt(sealed.encode(), _SECONDS), type=UnsavedForm)
        except (InvalidToken, msgspec.MsgspecError):
            return None
        owner = self.owner(form.fields.get(TOKEN_FIELD, ""), username)
        sent = form.fields.get(OWNER_FIELD, "")
        return form if sent.isascii() and compare_digest(sent, owner) else None
