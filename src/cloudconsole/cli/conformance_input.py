"""What `cloudconsole conformance` was given: the console's address, accounts and their passwords, whom to trust."""

import argparse
import getpass
import os
import ssl
import stat
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx2

from cloudconsole.conformance.examination import Subject
from cloudconsole.conformance.visitor import Account

MOST_DOMAINS: Final = 4
LONGEST_PASSWORD: Final = 1024


class Refused(Exception):
    """What was given cannot be used; the text says why."""


def read_subject(arguments: argparse.Namespace) -> Subject:
    base = _base(arguments.base_url)
    for flag in ("region", "username", "other_username", "domain_id"):
        _refuse_other_encodings(f"--{flag.replace('_', '-')}", getattr(arguments, flag))
    if len(arguments.domain_id) > MOST_DOMAINS:
        raise Refused(f"--domain-id: at most {MOST_DOMAINS}, so that there are not too many requests")
    if arguments.other_username is None and arguments.other_password_file is not None:
        raise Refused("--other-password-file: give --other-username, too")
    if arguments.other_username == arguments.username:
        raise Refused("--other-username: must be another account than --username")
    account = Account(arguments.username, _password("", arguments.username, arguments.password_file))
    other = None
    if arguments.other_username is not None:
        password = _password("OTHER_", arguments.other_username, arguments.other_password_file)
        other = Account(arguments.other_username, password)
    return Subject(base, arguments.region, account, other, tuple(dict.fromkeys(arguments.domain_id)))


def _refuse_other_encodings(source: str, given: str | list[str] | None) -> None:
    """What was not UTF-8 where it came from cannot be sent as text."""
    try:
        "".join(given or ()).encode()
    except UnicodeEncodeError:
        raise Refused(f"{source}: must be UTF-8 text") from None


def seconds(text: str) -> float:
    """A time limit, as argparse wants it."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 300:
        raise argparse.ArgumentTypeError("must be a number of seconds over 0 and at most 300")
    return value


def _base(given: str) -> str:
    try:
        parts = urlsplit(given)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx2.URL(given)
        is_bare = parts.username is None and parts.password is None and "?" not in given and "#" not in given
    except (ValueError, httpx2.InvalidURL):
        is_good = is_bare = False
    # urlsplit passes over line breaks and tabs.
    if not is_good or not is_bare or not given.isprintable() or not given.isascii() or " " in given:
        raise Refused(
            "BASE_URL: must be an address such as https://console.example.com, without user, query or fragment"
        )
    return given.rstrip("/")


def _password(prefix: str, username: str, file: Path | None) -> str:
    """From the file, else from the environment, else asked for on the terminal."""
    variable = f"CLOUDCONSOLE_{prefix}PASSWORD"
    if file is not None:
        return _read_password(file)
    password = os.environ.get(variable)
    if password is None:
        flag = f"--{prefix.lower().replace('_', '-')}password-file"
        if not sys.stdin.isatty():
            raise Refused(f"there is no terminal to ask for the password of {username}: give {flag} or {variable}")
        try:
            password = getpass.getpass(f"Password of {username}: ")
        except EOFError:
            password = ""
    if not 1 <= len(password) <= LONGEST_PASSWORD:
        raise Refused(f"the password of {username} must have 1 to {LONGEST_PASSWORD} characters")
    _refuse_other_encodings(f"the password of {username}", password)
    return password


def _read_password(file: Path) -> str:
    try:
        # Opening a pipe or a device could wait for ever.
        if not stat.S_ISREG(file.stat().st_mode):
            raise Refused(f"{file}: is not a file")
        with file.open("rb") as opened:
            password = opened.read(4 * LONGEST_PASSWORD + 3).decode("utf-8").removesuffix("\n").removesuffix("\r")
    except OSError as problem:
        raise Refused(f"{file}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise Refused(f"{file}: must be a file of UTF-8 text") from None
    if not 1 <= len(password) <= LONGEST_PASSWORD:
        raise Refused(f"{file}: must be a file with a password of 1 to {LONGEST_PASSWORD} characters in it")
    return password


def read_trust(arguments: argparse.Namespace) -> ssl.SSLContext | bool:
    if arguments.ca_file is None:
        return not arguments.insecure
    try:
        return ssl.create_default_context(cafile=arguments.ca_file)
    except (ssl.SSLError, OSError) as problem:
        raise Refused(f"--ca-file: {arguments.ca_file}: {problem.strerror or 'has no certificates in PEM'}") from None
