"""Every setting, typed, with one line of help: defaults, then environment variables, then flags."""

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cloudconsole.server.addresses import Network, host_of, is_loopback, normalise_region, parse_origin

ENVIRONMENT_PREFIX: Final = "CLOUDCONSOLE_"


class SettingError(Exception):
    """A setting that cannot be used; the text names it and the mend."""


def _setting(default: Any, parse: Callable[[str], Any], help_text: str) -> Any:
    return field(default=default, metadata={"parse": parse, "help": help_text})


def _whole_number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(f"give a whole number from {low} to {high}")
        return int(text)

    return parse


def _switch(text: str) -> bool:
    if text.lower() in ("true", "yes", "on", "1"):
        return True
    if text.lower() in ("false", "no", "off", "0"):
        return False
    raise ValueError("give true or false")


def _host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,253}", text):
        raise ValueError("give an address or name to listen on, such as 127.0.0.1 or ::1")
    return text.lower()


def _folder(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError("give a folder's path")
    return Path(text)


def _list_of(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    return lambda text: tuple(parse(item.strip()) for item in text.split(",") if item.strip())


def _served_host(text: str) -> str:
    host = host_of(text)
    if host is None:
        raise ValueError(
            f"{text!r} is no host name; give names or addresses without scheme, such as console.example.com"
        )
    return host


def _origin(text: str) -> str:
    origin = parse_origin(text)
    if origin is None:
        raise ValueError("give scheme and host and nothing more, such as https://console.example.com")
    return origin


def _region(text: str) -> str:
    if normalise_region(text) is None:
        raise ValueError(f"{text!r} is no identity address; give one such as https://identity.example.com/v3")
    return text


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is neither an IP address nor a network such as 10.0.0.0/8") from None


def _time_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("give a time zone's name, such as UTC or Asia/Shanghai") from None
    return text


def _currency(text: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", text):
        raise ValueError("give an ISO 4217 code, such as CNY or USD")
    return text


@dataclass(frozen=True, kw_only=True)
class Settings:
    host: str = _setting("127.0.0.1", _host, "address to listen on")
    port: int = _setting(8000, _whole_number(0, 65535), "port to listen on; 0 takes a free one")
    workers: int = _setting(1, _whole_number(1, 64), "worker processes")
    data: Path = _setting(Path("data"), _folder, "folder of the embedded store")
    hosts: tuple[str, ...] = _setting((), _list_of(_served_host), "Host names to serve, separated by commas")
    public_origin: str | None = _setting(
        None, _origin, "scheme and host that browsers see, such as https://console.example.com"
    )
    proxies: tuple[Network, ...] = _setting(
        (),
        _list_of(_network),
        "proxies whose forwarded headers are believed: addresses or networks, separated by commas",
    )
    identity: tuple[str, ...] = _setting(
        (), _list_of(_region), "addresses that login accepts as region, besides our own, separated by commas"
    )
    any_region: bool = _setting(False, _switch, "accept every region at login (for trying things out)")
    login_redirect: bool = _setting(False, _switch, "answer a login with 302 to / instead of 200")
    session_idle: int = _setting(
        1800, _whole_number(120, 31_536_000), "seconds without a call after which a session ends"
    )
    session_lifetime: int = _setting(
        43_200, _whole_number(60, 31_536_000), "seconds after login at which a session ends"
    )
    max_body: int = _setting(65_536, _whole_number(1024, 1_048_576), "largest request body in bytes")
    request_timeout: int = _setting(30, _whole_number(1, 3600), "seconds within which a request must have arrived")
    stop_grace: int = _setting(30, _whole_number(0, 3600), "seconds that running calls get to finish when stopping")
    currency: str = _setting("CNY", _currency, "currency of all amounts, an ISO 4217 code")
    time_zone: str = _setting("UTC", _time_zone, "time zone of the clock hour and of news dates")
    access_log: bool = _setting(True, _switch, "log a line for every call")
    insecure_sample: bool = _setting(False, _switch, "serve the sample's known passwords beyond this machine")

    @property
    def zone(self) -> tzinfo:
        return ZoneInfo(self.time_zone)

    @property
    def only_this_machine(self) -> bool:
        """Whether nobody but this machine can be meant to reach the console."""
        if self.proxies:
            return False
        names = [self.host, *self.hosts, *([self.origin_host] if self.origin_host else [])]
        return all(is_loopback(name) for name in names)

    @property
    def origin_host(self) -> str | None:
        """The host of the public origin, where one is set."""
        return host_of(self.public_origin.split("//")[1]) if self.public_origin else None

    def __post_init__(self) -> None:
        if self.origin_host and self.hosts and self.origin_host not in self.hosts:
            raise SettingError(f"hosts: add {self.origin_host}, the host of public_origin, or leave hosts out")


def load_settings(
    environment: Mapping[str, str] | None = None, flags: Mapping[str, str | None] | None = None
) -> Settings:
    """The settings in force; an unknown `CLOUDCONSOLE_` variable is as wrong as a wrong value."""
    environment = os.environ if environment is None else environment
    known = {setting.name: setting for setting in fields(Settings)}
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        if variable.startswith(ENVIRONMENT_PREFIX):
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            if name not in known:
                raise SettingError(f"{variable}: there is no such setting; see cloudconsole serve --help")
            values[name] = _parse(known[name].metadata, text, variable)
    for name, given in (flags or {}).items():
        if given is not None:
            values[name] = _parse(known[name].metadata, given, "--" + name.replace("_", "-"))
    return Settings(**values)


def _parse(metadata: Mapping[str, Any], text: str, source: str) -> Any:
    try:
        return metadata["parse"](text)
    except ValueError as problem:
        raise SettingError(f"{source}: {problem}") from None
