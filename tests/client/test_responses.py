"""Responses: the envelope's code decides, or the HTTP status without an envelope."""

from datetime import UTC, datetime

import httpx2
import pytest

from cloudconsole.client import exceptions as errors
from cloudconsole.client.responses import HttpResponse, check_login, check_logout, decode_data
from tests.client.scripted_server import Canned, envelope


def received(response: Canned) -> HttpResponse:
    assert response.status is not None
    return HttpResponse(response.status, httpx2.Headers(response.headers), response.body, [])


class TestActions:
    @pytest.mark.parametrize("status", [200, 201, 404, 500])
    def test_code_takes_precedence_over_the_status(self, status: int) -> None:
        assert decode_data(received(envelope({"done": True}, code=200, status=status))) == {"done": True}

    def test_a_byte_order_mark_is_skipped(self) -> None:
        assert decode_data(received(Canned(200, b"\xef\xbb\xbf" + envelope([1]).body))) == [1]

    @pytest.mark.parametrize(
        ("response", "expected", "code"),
        [
            (envelope({}, code=404), errors.NotFound, 404),
            (envelope({}, code=400), errors.RequestRefused, 400),
            (envelope({}, code=1), errors.RequestRefused, 1),
            (envelope({}, code=500), errors.ServerError, 500),
            (Canned(404, b"<h1>Not Found</h1>"), errors.NotFound, 404),
            (Canned(500), errors.ServerError, 500),
            (Canned(599), errors.ServerError, 599),
            (Canned(600), errors.RequestRefused, 600),
            (Canned(413, b"too large"), errors.RequestRefused, 413),
            (Canned(429), errors.RateLimited, 429),
            (Canned(403), errors.CsrfFailed, 403),
            (Canned(302), errors.LoginRequired, 302),
            (Canned(303), errors.LoginRequired, 303),
            (envelope({}, code=403, error="no_project"), errors.RequestRefused, 403),
            (envelope({}, code=404, error="unknown_action"), errors.UnknownAction, 404),
            # The code takes precedence over the error.
            (envelope({}, code=503, error="not_found"), errors.ServerError, 503),
            (envelope({}, code=400, error="too_many_requests"), errors.RequestRefused, 400),
            (envelope({}, code=401, error="made_up"), errors.LoginRequired, 401),
        ],
    )
    def test_failure_raises_the_matching_error(
        self, response: Canned, expected: type[errors.ConsoleError], code: int
    ) -> None:
        with pytest.raises(errors.ConsoleError) as raised:
            decode_data(received(response))
        assert (type(raised.value), raised.value.code) == (expected, code)
        assert str(raised.value)

    @pytest.mark.parametrize("status", [301, 307, 308])
    @pytest.mark.parametrize("read", [decode_data, check_login])
    def test_permanent_redirect_is_a_protocol_error(self, status: int, read: object) -> None:
        assert callable(read)
        with pytest.raises(errors.ProtocolError, match="redirects to /elsewhere/"):
            read(received(Canned(status, headers=[("Location", "/elsewhere/")])))

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            (b"", "code"),
            (b"[1, 2]", "code"),
            (b"<html>", "code"),
            (b"\xff\xfe", "code"),
            (b"[" * 100_000, "code"),
            (b'{"code": "200", "data": {}}', "code"),
            (b'{"code": true, "data": {}}', "code"),
            (b'{"code": 200, "message": "no data"}', "data"),
        ],
    )
    def test_invalid_envelope_is_a_protocol_error(self, body: bytes, field: str) -> None:
        with pytest.raises(errors.ProtocolError) as raised:
            decode_data(received(Canned(200, body, [("X-Request-ID", "r-1")])))
        assert (raised.value.field, raised.value.request_id) == (field, "r-1")
        assert raised.value.payload is not None

    @pytest.mark.parametrize(("sent", "shown"), [("a\n b\x1b[2J", "a b [2J"), ("x" * 1001, "x" * 1000)])
    def test_message_is_one_line_of_limited_length(self, sent: str, shown: str) -> None:
        with pytest.raises(errors.RequestRefused) as raised:
            decode_data(received(envelope({}, code=400, message=sent)))
        assert str(raised.value) == shown

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            ("60", 60),
            ("9" * 400, 999_999_999),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            *((invalid, None) for invalid in ("soon", "", "-1", "٣")),
        ],
    )
    def test_retry_after_is_read_if_valid(self, header: str, seconds: float | None) -> None:
        assert retry_after(header) == seconds

    @pytest.mark.parametrize("zone", ["00:00:00 GMT", "08:00:00 +0800", "00:00:00 -0000"])
    def test_retry_after_may_be_a_date(self, zone: str) -> None:
        expected = datetime(2199, 12, 31, tzinfo=UTC) - datetime.now(UTC)
        # Half an hour for the test itself, but not a time zone.
        assert retry_after(f"Tue, 31 Dec 2199 {zone}") == pytest.approx(expected.total_seconds(), abs=1800)


def retry_after(header: str) -> float | None:
    with pytest.raises(errors.RateLimited) as raised:
        decode_data(HttpResponse(429, {"retry-after": header}, b"", []))
    return raised.value.retry_after


class TestLoginAndLogout:
    @pytest.mark.parametrize(
        "response", [Canned(302), Canned(303), Canned(204), Canned(200, b"<html>Welcome!</html>"), envelope({})]
    )
    def test_any_2xx_and_302_are_a_successful_login(self, response: Canned) -> None:
        check_login(received(response))

    @pytest.mark.parametrize(
        ("response", "expected"),
        [
            (Canned(401), errors.InvalidCredentials),
            (envelope({}, code=401), errors.InvalidCredentials),
            (Canned(403, b"<h1>CSRF</h1>"), errors.CsrfFailed),
            (envelope({}, code=403, status=403, error="no_project"), errors.RequestRefused),
            (Canned(400), errors.RequestRefused),
            (Canned(500), errors.ServerError),
        ],
    )
    def test_failed_login_raises_the_matching_error(
        self, response: Canned, expected: type[errors.ConsoleError]
    ) -> None:
        with pytest.raises(expected):
            check_login(received(response))

    @pytest.mark.parametrize("code", [200, 401, 404, 405])
    def test_logout_accepts_a_missing_session_or_path(self, code: int) -> None:
        check_logout(received(envelope({}, code=code)))
