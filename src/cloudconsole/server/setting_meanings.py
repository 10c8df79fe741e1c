"""What the text of a setting means where it is more than a number or a switch: addresses, folders, zones."""

import ipaddress
import re
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cloudconsole.core.hosts import host_of, normalise_region, parse_origin
from cloudconsole.server.addresses import Network
from cloudconsole.server.setting_kinds import Word


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
SERVED_HOST: Final = Word(host_of, "HOST", "a host name or address without scheme", "console.example.com")
ORIGIN: Final = Word(parse_origin, "ORIGIN", "scheme and host and nothing more", "https://console.example.com")
IDENTITY_ADDRESS: Final = Word(_region, "ADDRESS", "an identity address", "https://identity.example.com/v3")
NETWORK: Final = Word(_network, "NETWORK", "an IP address or network", "10.0.0.0/8")
TIME_ZONE: Final = Word(_time_zone, "ZONE", "a time zone's name", "UTC", "Asia/Shanghai")
CURRENCY: Final = Word(_currency, "CODE", "an ISO 4217 code", "CNY", "USD")
