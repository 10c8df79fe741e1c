"""The layer between protocol steps and the HTTP library."""

import httpx2

from cloudconsole.client.transport import connection_failed


def test_error_does_not_disclose_an_invalid_header() -> None:
    error = httpx2.LocalProtocolError("Illegal header value b'sessionid=s3cret'")
    assert str(connection_failed("http://here.example", error)) == (
        "cannot reach http://here.example: the request is not valid HTTP"
    )
