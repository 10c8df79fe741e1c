"""API errors: unique identifiers, messages in both languages, and the tree in the module docstring."""

import re
from string import Formatter

import pytest

from cloudconsole.spec import errors
from cloudconsole.spec.errors import ApiError


def _subclasses(kind: type[ApiError]) -> list[type[ApiError]]:
    return [subclass for child in kind.__subclasses__() for subclass in (child, *_subclasses(child))]


KINDS = sorted(_subclasses(ApiError), key=lambda kind: kind.__name__)

TABLE = {
    ("malformed_body", 400),
    ("missing_field", 400),
    ("invalid_field", 400),
    ("unknown_region", 400),
    ("invalid_host", 400),
    ("invalid_credentials", 401),
    ("login_required", 401),
    ("csrf_failed", 403),
    ("no_project", 403),
    ("unknown_action", 404),
    ("domain_not_found", 404),
    ("not_found", 404),
    ("method_not_allowed", 405),
    ("body_too_large", 413),
    ("unsupported_media_type", 415),
    ("too_many_requests", 429),
    ("internal_error", 500),
    ("upstream_failed", 502),
    ("unavailable", 503),
    ("upstream_timeout", 504),
}

EXAMPLES = [
    errors.MalformedBody(),
    errors.MissingField("action"),
    errors.InvalidField("domainId"),
    errors.UnknownRegion(["http://a/v3", "http://b/v3"]),
    errors.InvalidHost(),
    errors.InvalidCredentials(),
    errors.LoginRequired(),
    errors.CsrfFailed(),
    errors.NoProject(),
    errors.UnknownAction(),
    errors.DomainNotFound(),
    errors.NotFound(),
    errors.MethodNotAllowed("GET, HEAD"),
    errors.BodyTooLarge(65536),
    errors.UnsupportedMediaType(("a/b", "c/d")),
    errors.TooManyRequests(7),
    errors.InternalError("request-1"),
    errors.UpstreamFailed(),
    errors.UpstreamTimeout(),
    errors.Unavailable(),
]


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_the_errors_are_those_of_the_contract() -> None:
    assert {(kind.error, kind.code) for kind in KINDS} == TABLE


def test_each_identifier_is_used_once() -> None:
    identifiers = [kind.error for kind in KINDS]
    assert len(set(identifiers)) == len(identifiers)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_identifier_is_snake_case(kind: type[ApiError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.error)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_both_languages_have_the_same_placeholders(kind: type[ApiError]) -> None:
    assert _placeholders(kind.text.en) == _placeholders(kind.text.zh)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_message_is_in_its_language(kind: type[ApiError]) -> None:
    assert kind.text.en.isascii()
    assert re.search("[一-鿿]", kind.text.zh)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_module_docstring_lists_every_error(kind: type[ApiError]) -> None:
    lines = [line.split() for line in (errors.__doc__ or "").splitlines()]
    assert [line[1:] for line in lines if line[1:2] == [kind.__name__]] == [[kind.__name__, str(kind.code), kind.error]]


def test_module_docstring_lists_no_other_errors() -> None:
    listed = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    assert sorted(listed) == [kind.__name__ for kind in KINDS]


def test_every_error_has_an_example() -> None:
    assert {type(example) for example in EXAMPLES} == set(KINDS)


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
def test_only_retryable_errors_have_retry_after(example: ApiError) -> None:
    assert (example.retry_after is not None) == (example.code in (429, 503))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.error))
def test_field_is_set_only_for_errors_of_a_field(example: ApiError) -> None:
    fields = {
        "missing_field": "action",
        "invalid_field": "domainId",
        "unknown_region": "region",
        "unknown_action": "action",
        "domain_not_found": "domainId",
    }
    assert example.field == fields.get(example.error)
