"""Check for private names of other packages that we override or use and that an upgrade may rename."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from types import FunctionType
from typing import Any

OURS = "cloudconsole."


class IncompatibleDependency(Exception):
    """An installed package lacks names that we use; the message says which, and which version to install."""


def require_names(package: str, versions: str, ours: Iterable[type], used: Mapping[type, Iterable[str]]) -> None:
    """Raise unless all methods marked as overrides in our classes, and all used names, exist.

    `versions` is the version specifier to install otherwise.
    """
    missing = sorted({*_missing_overrides(ours), *_missing_names(used)})
    if missing:
        raise IncompatibleDependency(
            f"{package} {version(package)} lacks {', '.join(missing)}, which Cloud Console relies on: "
            f"install {package}{versions}"
        )


def _missing_overrides(ours: Iterable[type]) -> Iterator[str]:
    for derived in ours:
        theirs = [base for base in derived.__mro__ if not base.__module__.startswith(OURS)]
        for base in derived.__mro__:
            for name, member in vars(base).items() if base not in theirs else ():
                is_override = getattr(getattr(member, "__func__", member), "__override__", False)
                if is_override and not any(name in vars(each) for each in theirs):
                    yield f"{theirs[0].__name__}.{name}"


def _missing_names(used: Mapping[type, Iterable[str]]) -> Iterator[str]:
    for owner, names in used.items():
        known = {*dir(owner), *(name for base in owner.__mro__ for name in _names_in(vars(base)))}
        yield from (f"{owner.__name__}.{name}" for name in names if name not in known)


def _names_in(members: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names that a class's methods use, which include the attributes that they set."""
    for member in members.values():
        if isinstance(member, FunctionType):
            yield from member.__code__.co_names
