"""Setting types: parsing, validation and help."""

import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.core.origins import parse_host, parse_origin
from cloudconsole.server.ip_addresses import Network


class SettingType(ABC):
    """Parser and validator of a setting; a ValueError says what is wrong or what is expected."""

    requirement: str
    """Description of valid values, for help, documents and errors."""
    metavar: str
    example: Any = None
    """Example value in a TOML file."""
    words: tuple[str, ...] = ()
    """All valid values, if they are few."""

    @abstractmethod
    def from_text(self, text: str) -> Any:
        """Parse a value of a variable or a flag."""

    @abstractmethod
    def from_file(self, value: Any) -> Any:
        """Validate a value of a TOML file."""

    def error(self) -> ValueError:
        return ValueError(f"must be {self.requirement}")


class WholeNumber(SettingType):
    metavar = "NUMBER"

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self.requirement = f"a whole number from {low} to {high}"

    def from_text(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,12}", text):
            raise self.error()
        return self.from_file(int(text))

    def from_file(self, value: Any) -> int:
        if type(value) is not int or not self._low <= value <= self._high:
            raise self.error()
        return value


class Switch(SettingType):
    requirement = "true or false"
    metavar = "true|false"
    words = ("true", "false")

    def from_text(self, text: str) -> bool:
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise self.error()

    def from_file(self, value: Any) -> bool:
        if type(value) is not bool:
            raise self.error()
        return value


class Choice(SettingType):
    def __init__(self, *options: str) -> None:
        self.words = options
        self.requirement = f"{', '.join(options[:-1])} or {options[-1]}"
        self.metavar = "|".join(options)

    def from_text(self, text: str) -> str:
        if text not in self.words:
            raise self.error()
        return text

    def from_file(self, value: Any) -> str:
        return self.from_text(value)


class Word(SettingType):
    """Text parsed by `read`, which returns None for invalid text."""

    def __init__(self, read: Callable[[str], Any], metavar: str, requirement: str, *examples: str) -> None:
        self._read = read
        self.metavar = metavar
        self.requirement = f"{requirement}, such as {' or '.join(examples)}" if examples else requirement
        self.example = examples[0] if examples else None

    def from_text(self, text: str) -> Any:
        value = self._read(text)
        if value is None:
            raise self.error()
        return value

    def from_file(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise self.error()
        return self.from_text(value)


class ListOf(SettingType):
    """List of values: an array in a file, comma-separated in text."""

    def __init__(self, item: Word) -> None:
        self._item = item
        self.metavar = f"{item.metavar},..."
        self.requirement = f"a list, each {item.requirement}"
        self.example = [item.example]

    def from_text(self, text: str) -> tuple[Any, ...]:
        return tuple(self._read(item.strip()) for item in text.split(",") if item.strip())

    def from_file(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self.error()
        return tuple(self._read(item) for item in value)

    def _read(self, item: Any) -> Any:
        try:
            return self._item.from_file(item)
        except ValueError:
            raise ValueError(f"{item!r} is not {self._item.requirement}") from None


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


def _directory(text: str) -> Path | None:
    directory = _path(text)
    # A path that cannot be inspected is rejected on use, with the reason.
    with suppress(OSError):
        if directory is not None and directory.exists() and not directory.is_dir():
            raise ValueError(f"{directory} is a file, not a directory")
    return directory


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


def _name(text: str) -> str | None:
    return text if text.strip() and text.isprintable() and len(text) <= 255 else None


def _database(text: str) -> str | None:
    if not text.startswith(("postgresql://", "postgres://")) or "\0" in text:
        return None
    try:
        from cloudconsole.store.postgres.dsn import parse
    except ImportError:
        raise ValueError("PostgreSQL support is not installed: pip install 'cloudconsole[postgres]'") from None
    parse(text)
    return text


def _extension(text: str) -> str | None:
    return text if text == BUILT_IN or re.fullmatch(r"[A-Z][A-Za-z0-9]{0,63}", text) else None


BUILT_IN: Final = "built-in"
"""Stands for all built-in extensions."""

HOST: Final = Word(_host, "HOST", "an address or host name of this machine", "127.0.0.1", "::1")
LISTEN_ADDRESS: Final = Word(_listen_address, "HOST:PORT", "an address and a port", "127.0.0.1:9464", "[::1]:9464")
DIRECTORY: Final = Word(_directory, "DIR", "a directory")
FILE: Final = Word(_path, "FILE", "a file")
CERTIFICATE_FILE: Final = Word(_path, "FILE", "a file", "/etc/cloudconsole/certificate.pem")
KEY_FILE: Final = Word(_path, "FILE", "a file", "/etc/cloudconsole/key.pem")
TOKEN_KEYS: Final = Word(_path, "FILE", "a file", "/etc/cloudconsole/token-keys")
DATABASE: Final = Word(_database, "ADDRESS", "a PostgreSQL URL", "postgresql://console@db.example.com/console")
PASSWORD_FILE: Final = Word(_path, "FILE", "a file", "/etc/cloudconsole/database-password")
SERVED_HOST: Final = Word(parse_host, "HOST", "a host name or address without a scheme", "console.example.com")
ORIGIN: Final = Word(parse_origin, "ORIGIN", "a scheme and host only", "https://console.example.com")
IDENTITY_ADDRESS: Final = Word(_region, "ADDRESS", "an identity address", "https://identity.example.com/v3")
EXTENSION: Final = Word(_extension, "NAME", "built-in or the name of an action", "built-in", "GetPrices")
NETWORK: Final = Word(_network, "NETWORK", "an IP address or network", "10.0.0.0/8")
TIME_ZONE: Final = Word(_time_zone, "ZONE", "a time zone name", "UTC", "Asia/Shanghai")
CURRENCY: Final = Word(_currency, "CODE", "an ISO 4217 code", "CNY", "USD")
PROVIDER: Final = Word(_name, "NAME", "a name of 1 to 255 printable characters", "Example Cloud")
