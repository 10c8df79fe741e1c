"""Reading JSON lines, one resource each, with no more in memory than a batch of them."""

import json
from collections.abc import Container, Iterator
from datetime import tzinfo
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn

from pydantic import ValidationError

from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.errors import Finding
from cloudconsole.operator.fields import Reference
from cloudconsole.operator.gaps import with_gaps
from cloudconsole.operator.models import Resource
from cloudconsole.operator.words import message_of, path_of, path_text

LONGEST_LINE: Final = 65_536
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class ResourceLine(Resource):
    """A resource as a cloud file has it, and whose it is."""

    tenant: Reference


class Line(NamedTuple):
    number: int
    resource: ResourceLine
    findings: tuple[Finding, ...] = ()
    """What is wrong with single fields, which are `UNUSABLE` then."""


class Batch(NamedTuple):
    lines: list[Line]
    problems: list[Problem]
    """Of lines that cannot be read at all."""
    position: int
    """Bytes read so far."""


class Unreadable(Exception):
    """A line that is not taken."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.problems = problems


def read_batches(
    source: BinaryIO, zone: tzinfo, size: int, kept: Container[str] = (), *, stops: bool = True
) -> Iterator[Batch]:
    """The lines in order; empty lines are passed over. With `stops`, the first invalid line is the last."""
    context = {"zone": zone, "kept": kept}
    number = position = 0
    lines: list[Line] = []
    problems: list[Problem] = []
    while content := source.readline(LONGEST_LINE + 1):
        number, position = number + 1, position + len(content)
        try:
            data = _read(content.removeprefix(_BYTE_ORDER_MARK) if number == 1 else content, number)
            if data is not None:
                lines.append(_line(data, number, context))
        except Unreadable as refused:
            problems += refused.problems
        if stops and (problems or (lines and lines[-1].findings)):
            break
        if len(lines) + len(problems) >= size:
            yield Batch(lines, problems, position)
            lines, problems = [], []
    if lines or problems:
        yield Batch(lines, problems, position)


def _read(content: bytes, number: int) -> dict[str, Any] | None:
    if len(content) > LONGEST_LINE:
        raise Unreadable([Problem(number, "", f"is longer than {LONGEST_LINE} bytes: give each resource its own line")])
    try:
        text = content.decode()
        if not text.strip():
            return None
        data = _DECODER.decode(text)
    except UnicodeDecodeError:
        message = "is not UTF-8 text"
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} at character {error.pos + 1}"
    except RecursionError:
        message = "is nested too deeply"
    except ValueError as error:
        message = str(error) if isinstance(error, _Refused) else "has a number too large to hold"
    else:
        if isinstance(data, dict):
            return data
        message = 'must be an object, such as {"tenant": "demo", "id": "v-1", ...}'
    raise Unreadable([Problem(number, "", message)])


class _Refused(ValueError):
    """JSON that is not taken, for the reason in its text."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Refused(f"{path_text((twice,))}: is there twice")
    return data


def _refuse_constant(word: str) -> NoReturn:
    raise _Refused(f"has {word}, which JSON does not have")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _line(data: dict[str, Any], number: int, context: dict[str, Any]) -> Line:
    try:
        return Line(number, ResourceLine.model_validate(data, context=context))
    except ValidationError as error:
        details = error.errors(include_url=False)
    resource = ResourceLine.model_validate(with_gaps(data, details), context=context)
    return Line(number, resource, tuple((path_of(detail), message_of(detail)) for detail in details))
