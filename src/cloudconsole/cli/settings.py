"""The settings of a call: from flags, variables and profiles."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from cloudconsole.cli import texts
from cloudconsole.cli.account import Account, Source, choose_account
from cloudconsole.cli.passwords import in_file, in_variable
from cloudconsole.cli.places import PREFIX, profiles_file
from cloudconsole.cli.problems import UsageProblem
from cloudconsole.cli.profiles import Profile, read_profiles
from cloudconsole.cli.speaking import LANGUAGES, say, speak
from cloudconsole.spec.urls import clean_address

VARIABLES: Final = frozenset(PREFIX + name for name in ("URL", "REGION", "USERNAME", "PASSWORD", "PROFILE", "DEBUG"))

OF_SETTINGS: Final = ("profile", "url", "region", "username", "password_file", "ca_file", "insecure", "timeout")
"""What is read of the arguments besides the language and the form of output."""


class Settings(NamedTuple):
    account: Account
    profile: str | None
    output: str
    ca_file: Path | None
    is_insecure: bool
    timeout: float | None


def read_settings(arguments: argparse.Namespace, environment: Mapping[str, str], last_login: Source | None) -> Settings:
    set_here = {name: text for name, text in environment.items() if text}
    profiles = read_profiles(profiles_file(environment))
    name = arguments.profile or set_here.get(f"{PREFIX}PROFILE") or profiles.default
    profile = profiles.get(name) if name else None
    if profile is not None and profile.language and not arguments.lang:
        speak(next(language for language in LANGUAGES if language == profile.language))
    places = [_of_flags(arguments), _of_variables(set_here), _of_openstack(set_here)]
    if profile is not None:
        # Where it is named is how much it is meant.
        place = 1 if arguments.profile else 2 if f"{PREFIX}PROFILE" in set_here else 3
        places.insert(place, _of_profile(profile))
    account = choose_account(places, last_login)
    if profile is not None and profile.url not in (None, account.url):
        profile = None
    return Settings(
        account=account,
        profile=profile.name if profile else None,
        output=getattr(arguments, "output", None) or (profile and profile.output) or "table",
        ca_file=arguments.ca_file or (profile and profile.ca_file),
        is_insecure=bool(arguments.insecure),
        timeout=arguments.timeout,
    )


def _of_flags(arguments: argparse.Namespace) -> Source:
    return Source(
        say(texts.A_FLAG),
        arguments.url,
        arguments.region,
        arguments.username,
        in_file("--password-file", arguments.password_file),
        is_by_hand=True,
    )


def _of_variables(environment: Mapping[str, str]) -> Source:
    url = environment.get(f"{PREFIX}URL")
    try:
        clean = clean_address(url) if url else None
    except ValueError:
        raise UsageProblem(f"{PREFIX}URL: {say(texts.MUST_BE_ADDRESS)}") from None
    region, username = environment.get(f"{PREFIX}REGION"), environment.get(f"{PREFIX}USERNAME")
    password = in_variable(f"{PREFIX}PASSWORD", environment.get(f"{PREFIX}PASSWORD"))
    return Source(f"{PREFIX}…", clean, region, username, password)


def _of_openstack(environment: Mapping[str, str]) -> Source:
    password = in_variable("OS_PASSWORD", environment.get("OS_PASSWORD"))
    region, username = environment.get("OS_AUTH_URL"), environment.get("OS_USERNAME")
    return Source("OS_…", None, region, username, password, is_of_others=True)


def _of_profile(profile: Profile) -> Source:
    password = in_file(f"password_file ({profile.name})", profile.password_file)
    return Source(say(texts.A_PROFILE, name=profile.name), profile.url, profile.region, profile.username, password)
