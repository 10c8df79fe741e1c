"""What an answer says, taken as kindly as possible: what exactly is wrong with it, checks of their own tell."""

from typing import Any

from cloudconsole.conformance.answers import BUSY, Answer, NotJson
from cloudconsole.conformance.checks import Skipped
from cloudconsole.conformance.shapes import is_integer
from cloudconsole.conformance.showing import shown


class Busy(Skipped):
    """The server was too busy to look at a request, so that its answer is no evidence of anything."""


def content_of(answer: Answer) -> dict[str, Any]:
    """The envelope, or an empty one where there is none."""
    try:
        content = answer.content
    except NotJson:
        return {}
    return content if isinstance(content, dict) else {}


def is_success(answer: Answer) -> bool:
    """Whether an answer means success, even if its code has a wrong type or is missing: that is told of elsewhere."""
    content = content_of(answer)
    if "code" in content:
        return str(content["code"]) in ("200", "200.0")
    return answer.status == 200 and "data" in content


def succeeded(answer: Answer) -> bool:
    """Likewise; raises `Busy` where that cannot be told."""
    hold_not_busy(answer)
    return is_success(answer)


def hold_not_busy(answer: Answer) -> None:
    """Raises `Busy` where an answer says nothing about the request."""
    for status in (answer.status, code_of(answer)):
        if is_integer(status) and status in BUSY:
            raise Busy(f"{BUSY[status]}: {told(answer)}")


def code_of(answer: Answer) -> Any:
    """The code in the envelope, or the HTTP status where there is none."""
    return content_of(answer).get("code", answer.status)


def told(answer: Answer) -> str:
    """An answer in a few words."""
    content = content_of(answer)
    if answer.is_of_login:
        code = content.get("code", 0)
        also = f", code {code}" if is_integer(code) and 100 <= code < 1000 else ""
        return f"HTTP {answer.status}{also} with {len(answer.body) or 'no'} bytes"
    if "code" in content:
        return f"HTTP {answer.status}, code {shown(content['code'])}, message {shown(content.get('message'))}"
    return f"HTTP {answer.status} with {shown(answer.body) if answer.body else 'no body'}"


def quoted(answer: Answer, value: object) -> str:
    """Something out of an answer, where that may be shown."""
    return "another (not shown: it came with a login)" if answer.is_of_login else shown(value)
