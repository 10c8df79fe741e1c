"""API errors: unique identifiers, messages in both languages, and the tree in the module docstring."""

import re

import pytest

from cloudconsole.spec import errors
from cloudconsole.spec.errors import ApiError


def _subclasses(kind: type[ApiError]) -> list[type[ApiError]]:
    return [subclass for child in kind.__subclasses__() for subclass in (child, *_subclasses(child))]


KINDS = sorted(_subclasses(ApiError), key=lambda kind: kind.__name__)

CONTRACT: list[tuple[ApiError, str, int]] = [
    (errors.MalformedBody(), "malformed_body", 400),
    (errors.MissingField("action"), "missing_field", 400),
    (errors.InvalidField("domainId"), "invalid_field", 400),
    (errors.UnknownRegion(["http://a/v3", "http://b/v3"]), "unknown_region", 400),
    (errors.InvalidHost(), "invalid_host", 400),
    (errors.InvalidCredentials(), "invalid_credentials", 401),
    (errors.LoginRequired(), "login_required", 401),
    (errors.CsrfFailed(), "csrf_failed", 403),
    (errors.NoProject(), "no_project", 403),
    (errors.UnknownAction(), "unknown_action", 404),
    (errors.DomainNotFound(), "domain_not_found", 404),
    (errors.NotFound(), "not_found", 404),
    (errors.MethodNotAllowed("GET, HEAD"), "method_not_allowed", 405),
    (errors.BodyTooLarge(65536), "body_too_large", 413),
    (errors.UnsupportedMediaType(("a/b", "c/d")), "unsupported_media_type", 415),
    (errors.TooManyRequests(7), "too_many_requests", 429),
    (errors.InternalError("request-1"), "internal_error", 500),
    (errors.UpstreamFailed(), "upstream_failed", 502),
    (errors.UpstreamTimeout(), "upstream_timeout", 504),
    (errors.Unavailable(), "unavailable", 503),
]
"""An example of each error, its identifier and its status code."""
EXAMPLES = [example for example, _, _ in CONTRACT]


def test_the_errors_are_those_of_the_contract() -> None:
    assert sorted(type(example).__name__ for example in EXAMPLES) == [kind.__name__ for kind in KINDS]
    assert [(example.error, example.code) for example in EXAMPLES] == [row[1:] for row in CONTRACT]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_message_is_in_its_language(kind: type[ApiError]) -> None:
    assert kind.text.en.isascii()
    assert re.search("[一-鿿]", kind.text.zh)


def test_module_docstring_lists_every_error() -> None:
    listed = re.findall(r"[├└]── (\w+) +(\d+) +(\w+)", errors.__doc__ or "")
    assert sorted(listed) == [(kind.__name__, str(kind.code), kind.error) for kind in KINDS]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.error))
def test_every_message_is_complete(example: ApiError) -> None:
    for message in (example.message("en"), example.message("zh")):
        assert message
        assert not set("{}") & set(message)


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (errors.UnknownRegion(["http://a/v3", "http://b/v3"]), ["http://a/v3", "http://b/v3"]),
        (errors.MethodNotAllowed("GET, HEAD"), ["GET, HEAD"]),
        (errors.BodyTooLarge(65536), ["65536"]),
        (errors.UnsupportedMediaType(("a/b", "c/d")), ["a/b", "c/d"]),
        (errors.TooManyRequests(7), ["7"]),
        (errors.InternalError("request-1"), ["request-1"]),
        (errors.MissingField("domainId"), ["domainId"]),
        (errors.InvalidField("domainId"), ["domainId"]),
    ],
    ids=lambda value: getattr(value, "error", None),
)
def test_message_contains_the_values_needed_to_fix_the_request(example: ApiError, expected: list[str]) -> None:
    for message in (example.message("en"), example.message("zh")):
        assert all(part in message for part in expected)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.error))
def test_only_some_errors_have_retry_after_or_a_field(example: ApiError) -> None:
    fields = {
        "missing_field": "action",
        "invalid_field": "domainId",
        "unknown_region": "region",
        "unknown_action": "action",
        "domain_not_found": "domainId",
    }
    assert example.field == fields.get(example.error)
    assert (example.retry_after is not None) == (example.code in (429, 503))
