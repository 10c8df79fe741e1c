"""The client over HTTPS: by host name and IP address, with certificate verification."""

from collections.abc import Iterator

import pytest

from cloudconsole import ConnectionFailed
from tests.client.conftest import Connect, RetryClock
from tests.e2e.test_https import serving_https
from tests.harness import RunningServer, client_ssl_context


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving_https(tmp_path_factory.mktemp("secure")) as running:
        yield running


def test_cookies_work_over_https(connect: Connect, secure: RunningServer) -> None:
    base = f"https://LOCALHOST:{secure.port}/"
    demo = connect(base, username="demo", password="console-demo", verify=client_ssl_context())
    demo.login()
    again = connect(base, session=demo.session, verify=client_ssl_context())
    assert again.usage_limits().instances.limit == 20


def test_untrusted_certificate_is_rejected(connect: Connect, secure: RunningServer, retry_clock: RetryClock) -> None:
    with pytest.raises(ConnectionFailed, match="certificate"):
        connect(secure.base, username="demo", password="console-demo").news()
