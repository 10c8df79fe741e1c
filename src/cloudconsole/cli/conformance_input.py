"""What `cloudconsole conformance` was given: the console's address, accounts and their passwords, whom to trust."""

import argparse
import os
import ssl
from pathlib import Path
from typing import Final

from cloudconsole.cli.passwords import ask_password, can_ask, in_file, in_variable
from cloudconsole.cli.problems import UsageProblem
from cloudconsole.conformance.subject import Subject
from cloudconsole.conformance.visitor import Account
from cloudconsole.spec.constants import is_sendable
from cloudconsole.spec.urls import clean_address

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
    account = Account(arguments.username, _password("", arguments.username, arguments.password_file, base))
    other = None
    if arguments.other_username is not None:
        password = _password("OTHER_", arguments.other_username, arguments.other_password_file, base)
        other = Account(arguments.other_username, password)
    return Subject(base, arguments.region, account, other, tuple(dict.fromkeys(arguments.domain_id)))


def _refuse_other_encodings(source: str, given: str | list[str] | None) -> None:
    """What was not UTF-8 where it came from cannot be sent as text."""
    if not is_sendable("".join(given or ())):
        raise Refused(f"{source}: must be UTF-8 text")


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
        return clean_address(given)
    except ValueError as problem:
        raise Refused(f"BASE_URL: {problem}") from None


def _password(prefix: str, username: str, file: Path | None, base: str) -> str:
    """From the file, else from the environment, else asked for on the terminal."""
    flag, variable = f"--{prefix.lower().replace('_', '-')}password-file", f"CLOUDCONSOLE_{prefix}PASSWORD"
    given = in_file(flag, file) or in_variable(variable, os.environ.get(variable))
    if given is None and not can_ask():
        raise Refused(f"there is no terminal to ask for the password of {username}: give {flag} or {variable}")
    try:
        password = given.read() if given else ask_password(username, base)
    except UsageProblem as problem:
        raise Refused(str(problem)) from None
    if len(password) > LONGEST_PASSWORD:
        raise Refused(f"the password of {username} must have 1 to {LONGEST_PASSWORD} characters")
    _refuse_other_encodings(f"the password of {username}", password)
    return password


def read_trust(arguments: argparse.Namespace) -> ssl.SSLContext | bool:
    if arguments.ca_file is None:
        return not arguments.insecure
    try:
        return ssl.create_default_context(cafile=arguments.ca_file)
    except (ssl.SSLError, OSError) as problem:
        raise Refused(f"--ca-file: {arguments.ca_file}: {problem.strerror or 'has no certificates in PEM'}") from None
