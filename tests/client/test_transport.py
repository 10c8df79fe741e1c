"""Between steps and the HTTP library."""

import httpx2

from cloudconsole.client.transport import connection_failed


def test_a_header_that_cannot_be_sent_is_not_told() -> None:
    problem = httpx2.LocalProtocolError("Illegal header value b'sessionid=s3cret'")
    assert str(connection_failed("http://here.example", problem)) == (
        "cannot reach http://here.example: the request is not valid HTTP"
    )
