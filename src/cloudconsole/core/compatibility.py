"""Names in classes of other packages that ours override or use, and that an upgrade may rename without notice."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from types import FunctionType
from typing import Any

OURS = "cloudconsole."


class IncompatibleDependency(Exception):
    """An installed package lacks names that we rely on; the text says which, and what to install instead."""


def require_names(package: str, versions: str, ours: Iterable[type], used: Mapping[type, Iterable[str]]) -> None:
    """Raise unless all methods marked as overrides in our classes, and all used names, are there.

    `versions` is what to install otherwise.
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
    """The names that a class's methods use: among them are the attributes that they set."""
    for member in members.values():
        if isinstance(member, FunctionType):
            yield from member.__code__.co_names
