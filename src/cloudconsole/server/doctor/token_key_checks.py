"""The keys under which tokens of an OpenStack are kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cloudconsole.server.doctor.findings import Case, Finding, ok, problem
from cloudconsole.server.doctor.shell import pip_install, shell

EXTRA: Final = "cloudconsole[openstack]"


def install_extra() -> tuple[str, str]:
    """Return the advice for a missing package, in words and as a command."""
    return f"install {EXTRA}", pip_install(EXTRA)


def check_token_keys(case: Case) -> Iterator[Finding]:
    settings = case.settings
    if not settings.has_keystone:
        yield ok("none are needed: no identity endpoint is of kind keystone")
        return
    try:
        from cloudconsole.backends.openstack.token_encryption import FOR_OTHERS, KeyFileError, read_keys
    except ModuleNotFoundError as missing:
        yield problem(f"{missing.name} is not installed, which an endpoint of kind keystone needs", *install_extra())
        return
    file = settings.token_key_file
    if not file.exists():
        yield _unmade(file, in_data=settings.token_keys is None)
        return
    try:
        keys = read_keys(file)
    except KeyFileError as wrong:
        is_open = file.is_file() and file.stat().st_mode & FOR_OTHERS
        command = shell("chmod", "600", file) if is_open else ""
        yield problem(str(wrong), "cloudconsole serve does not start with it", command)
    else:
        yield ok(f"{file} has {len(keys)} and is closed to others")


def _unmade(file: Path, *, in_data: bool) -> Finding:
    if in_data or file.parent.is_dir():
        return ok(f"{file} will be made when the console starts")
    return problem(
        f"there is no folder {file.parent} in which {file.name} could be made",
        "create it, or set token_keys",
        shell("mkdir", "-p", "-m", "700", file.parent),
    )
