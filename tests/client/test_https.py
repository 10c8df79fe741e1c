"""The client over https: by name and by address, with the certificate checked."""

from collections.abc import Iterator

import pytest

from cloudconsole import ConnectionFailed
from tests.client.conftest import Connect
from tests.e2e.test_https import serving_https
from tests.harness import RunningServer, trusting_tests


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving_https(tmp_path_factory.mktemp("secure")) as running:
        yield running


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_cookies_work_over_https(connect: Connect, secure: RunningServer, host: str) -> None:
    base = f"https://{host}:{secure.port}"
    demo = connect(base, username="demo", password="console-demo", verify=trusting_tests())
    demo.login()
    again = connect(base, session=demo.session, verify=trusting_tests())
    assert again.usage_limits().instances.limit == 20


def test_a_certificate_that_nobody_vouches_for_is_refused(connect: Connect, secure: RunningServer) -> None:
    with pytest.raises(ConnectionFailed, match="certificate"):
        connect(secure.base, username="demo", password="console-demo", deadline=10.0).news()
