"""Types of settings: how each is parsed from text, checked and printed."""

import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cloudconsole.core.hosts import normalise_region, parse_host, parse_origin
from cloudconsole.server.net import Network


class SettingType(ABC):
    """What a setting may hold. A ValueError's text says what is wrong or what to give instead."""

    wanted: str
    """What may be given, in the words of help, documents and refusals."""
    metavar: str
    example: Any = None
    """One as a TOML file has it."""

    @abstractmethod
    def from_text(self, text: str) -> Any:
        """The value that a variable or a flag gives."""

    @abstractmethod
    def from_file(self, value: Any) -> Any:
        """The value that a TOML file gives."""

    def refusal(self) -> ValueError:
        return ValueError(f"give {self.wanted}")


class WholeNumber(SettingType):
    metavar = "NUMBER"

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self.wanted = f"a whole number from {low} to {high}"

    def from_text(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,12}", text):
            raise self.refusal()
        return self.from_file(int(text))

    def from_file(self, value: Any) -> int:
        if type(value) is not int or not self._low <= value <= self._high:
            raise self.refusal()
        return value


class Switch(SettingType):
    wanted = "true or false"
    metavar = "true|false"

    def from_text(self, text: str) -> bool:
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise self.refusal()

    def from_file(self, value: Any) -> bool:
        if type(value) is not bool:
            raise self.refusal()
        return value


class Choice(SettingType):
    def __init__(self, *options: str) -> None:
        self._options = options
        self.wanted = f"{', '.join(options[:-1])} or {options[-1]}"
        self.metavar = "|".join(options)

    def from_text(self, text: str) -> str:
        if text not in self._options:
            raise self.refusal()
        return text

    def from_file(self, value: Any) -> str:
        return self.from_text(value)


class Word(SettingType):
    """Text with a meaning, the same in a file as in a variable; `read` gives None where the text has none."""

    def __init__(self, read: Callable[[str], Any], metavar: str, wanted: str, *examples: str) -> None:
        self._read = read
        self.metavar = metavar
        self.wanted = f"{wanted}, such as {' or '.join(examples)}" if examples else wanted
        self.example = examples[0] if examples else None

    def from_text(self, text: str) -> Any:
        value = self._read(text)
        if value is None:
            raise self.refusal()
        return value

    def from_file(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise self.refusal()
        return self.from_text(value)


class ListOf(SettingType):
    """Several of one kind: an array in a file, separated by commas in text."""

    def __init__(self, item: Word) -> None:
        self._item = item
        self.metavar = f"{item.metavar},..."
        self.wanted = f"a list, each {item.wanted}"
        self.example = [item.example]

    def from_text(self, text: str) -> tuple[Any, ...]:
        return tuple(self._read(item.strip()) for item in text.split(",") if item.strip())

    def from_file(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self.refusal()
        return tuple(self._read(item) for item in value)

    def _read(self, item: Any) -> Any:
        try:
            return self._item.from_file(item)
        except ValueError:
            raise ValueError(f"{item!r} is not {self._item.wanted}") from None


class ListenAddress(NamedTuple):
    host: str
    port: int


def _host(text: str) -> str | None:
    return text.lower() if re.fullmatch(r"[A-Za-z0-9._:-]{1,253}", text) else None


def _listen_address(text: str) -> ListenAddress | None:
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):([0-9]{1,5})", text)
    host = _host(match[1].strip("[]")) if match else None
    if match is None or host is None or int(match[2]) > 65535:
        return None
    return ListenAddress(host, int(match[2]))


def _path(text: str) -> Path | None:
    return Path(text) if text and "\0" not in text else None


def _folder(text: str) -> Path | None:
    folder = _path(text)
    # What cannot even be looked at is refused where it is used, with the reason.
    with suppress(OSError):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is a file; give a folder's path")
    return folder


def _region(text: str) -> str | None:
    return text if normalise_region(text) is not None else None


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _time_zone(text: str) -> str | None:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
    return text


def _currency(text: str) -> str | None:
    return text if re.fullmatch(r"[A-Z]{3}", text) else None


def _database(text: str) -> str | None:
    if not text.startswith(("postgresql://", "postgres://")) or "\0" in text:
        return None
    try:
        from cloudconsole.store.postgres.dsn import parse
    except ImportError:
        raise ValueError("PostgreSQL needs more than is installed: pip install 'cloudconsole[postgres]'") from None
    parse(text)
    return text


HOST: Final = Word(_host, "HOST", "an address or name of this machine", "127.0.0.1", "::1")
LISTEN_ADDRESS: Final = Word(_listen_address, "HOST:PORT", "an address and a port", "127.0.0.1:9464", "[::1]:9464")
FOLDER: Final = Word(_folder, "FOLDER", "a folder's path")
FILE: Final = Word(_path, "FILE", "a file's path")
CERTIFICATE_FILE: Final = Word(_path, "FILE", "a file's path", "/etc/cloudconsole/certificate.pem")
KEY_FILE: Final = Word(_path, "FILE", "a file's path", "/etc/cloudconsole/key.pem")
TOKEN_KEYS: Final = Word(_path, "FILE", "a file's path", "/etc/cloudconsole/token-keys")
DATABASE: Final = Word(_database, "ADDRESS", "PostgreSQL's address", "postgresql://console@db.example.com/console")
PASSWORD_FILE: Final = Word(_path, "FILE", "a file's path", "/etc/cloudconsole/database-password")
SERVED_HOST: Final = Word(parse_host, "HOST", "a host name or address without scheme", "console.example.com")
ORIGIN: Final = Word(parse_origin, "ORIGIN", "scheme and host and nothing more", "https://console.example.com")
IDENTITY_ADDRESS: Final = Word(_region, "ADDRESS", "an identity address", "https://identity.example.com/v3")
NETWORK: Final = Word(_network, "NETWORK", "an IP address or network", "10.0.0.0/8")
TIME_ZONE: Final = Word(_time_zone, "ZONE", "a time zone's name", "UTC", "Asia/Shanghai")
CURRENCY: Final = Word(_currency, "CODE", "an ISO 4217 code", "CNY", "USD")
