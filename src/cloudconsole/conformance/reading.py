"""What an answer says, taken as kindly as possible: what exactly is wrong with it, checks of their own tell."""

from typing import Any

from cloudconsole.conformance.sending import Answer, NotJson
from cloudconsole.conformance.showing import shown


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


def code_of(answer: Answer) -> Any:
    """The code in the envelope, or the HTTP status where there is none."""
    return content_of(answer).get("code", answer.status)


def told(answer: Answer) -> str:
    """An answer in a few words."""
    content = content_of(answer)
    if "code" in content:
        return f"HTTP {answer.status}, code {shown(content['code'])}, message {shown(content.get('message'))}"
    return f"HTTP {answer.status} with {shown(answer.body) if answer.body else 'no body'}"
