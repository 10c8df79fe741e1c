"""The nginx configuration matches the console: limits, messages, headers, paths."""

import re
from pathlib import Path

import pytest

from cloudconsole.backends.embedded.identity import QUEUE_LIMIT
from cloudconsole.server.admin_ui.templating import SIGN_IN_PATH
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.parser import MAX_HEAD_BYTES
from cloudconsole.server.http.response import CLOSED_POLICY, NO_STORE, SECURITY_HEADERS
from cloudconsole.spec import errors
from cloudconsole.spec.i18n import Language

FILE = (Path(__file__).parents[2] / "deploy/nginx/cloudconsole.conf").read_text()
DEFAULTS = Settings()
ERRORS = [
    errors.NotFound(),
    errors.BodyTooLarge(DEFAULTS.max_body),
    errors.InternalError("$cloudconsole_request_id"),
    errors.UpstreamFailed(),
    errors.Unavailable(),
    errors.UpstreamTimeout(),
]


def values(directive: str) -> list[str]:
    """Return all values of a directive."""
    return re.findall(rf"^\s*{directive} +([^;]+);", FILE, re.MULTILINE)


class TestLimits:
    def test_port_sizes_and_timeouts_match_the_console(self) -> None:
        assert f"server 127.0.0.1:{DEFAULTS.port} " in FILE
        assert values("client_max_body_size") == values("client_body_buffer_size") == [f"{DEFAULTS.max_body // 1024}k"]
        assert values("large_client_header_buffers") == [f"1 {MAX_HEAD_BYTES // 1024}k"]
        for timeout in ("client_header_timeout", "client_body_timeout", "send_timeout"):
            assert values(timeout) == [f"{DEFAULTS.request_timeout}s"]

    def test_nginx_closes_idle_connections_before_the_console(self) -> None:
        to_replicas, to_clients = (int(value.removesuffix("s")) for value in values("keepalive_timeout"))
        assert to_replicas < 75 == to_clients

    def test_the_login_burst_matches_the_login_queue(self) -> None:
        assert set(values("limit_req zone=cloudconsole_logins")) == {f"burst={QUEUE_LIMIT // 2} nodelay"}

    def test_only_posts_of_actions_are_retried(self) -> None:
        assert values("proxy_next_upstream") == ["error timeout", "error timeout non_idempotent"]
        block = FILE.partition("location ~ ^/api/?$ {")[2].partition("}")[0]
        assert "proxy_next_upstream error timeout non_idempotent;" in block

    @pytest.mark.parametrize("path", ["/auth/login/", SIGN_IN_PATH])
    def test_every_login_path_is_rate_limited(self, path: str) -> None:
        block = FILE.partition(f"location = {path} {{")[2].partition("}")[0]
        assert "zone=cloudconsole_logins" in block
        assert "zone=cloudconsole_calls" in block

    @pytest.mark.parametrize(
        "header", ["Host", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "Forwarded"]
    )
    def test_every_trusted_header_is_replaced(self, header: str) -> None:
        (value,) = values(f"proxy_set_header {header}")
        assert value in ("$host", "$scheme", "$remote_addr", '""')

    @pytest.mark.parametrize(
        ("address", "client"),
        [
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2"),
            ("2001:db8:1:2::9", "2001:db8:1:2"),
            ("2001:db8:1:2:ffff::", "2001:db8:1:2"),
            ("2001:db8::9", "2001:db8::"),
            ("2001:db8::7:8:9", "2001:db8::"),
            ("::1", "::"),
        ],
    )
    def test_an_ipv6_client_is_its_64_bit_prefix(self, address: str, client: str) -> None:
        rules = re.findall(r'^    "~(.*?)" "?([^"\n]+?)"?;\n', FILE.partition("limit_req_zone")[0], re.MULTILINE)
        assert len(rules) == 2
        for pattern, value in rules:
            found = re.match(pattern.replace("(?<", "(?P<"), address)
            if found:
                assert value.replace("$cloudconsole_prefix", found[1]) == client
                return
        assert address == client


class TestErrors:
    def test_error_responses_have_the_headers_of_the_console(self) -> None:
        given = dict(re.findall(r'^\s*add_header (\S+) "?([^"]*?)"? always;', FILE, re.MULTILINE))
        expected = {name.decode(): value.decode() for name, value in [*SECURITY_HEADERS, CLOSED_POLICY, NO_STORE]}
        expected["strict-transport-security"] = f"max-age={DEFAULTS.hsts}"
        assert expected.items() <= {name.lower(): value for name, value in given.items()}.items()

    @pytest.mark.parametrize("language", ["en", "zh"])
    @pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.error)
    def test_error_messages_match_the_console(self, error: errors.ApiError, language: Language) -> None:
        assert f'    {error.code}:{language} "{error.message(language)}";\n' in FILE

    @pytest.mark.parametrize("error", [*ERRORS, errors.TooManyRequests(1)], ids=lambda error: error.error)
    def test_error_responses_are_envelopes(self, error: errors.ApiError) -> None:
        body = f'{{"message":"$cloudconsole_message","code":{error.code},"data":{{}},"error":"{error.error}"}}'
        assert re.search(rf"location = /.error/{error.code} {{.* return {error.code} '{re.escape(body)}'; }}\n", FILE)
        assert re.search(rf"^    error_page {error.code} (= )?/.error/{error.code};$", FILE, re.MULTILINE)
