"""Run tenant commands: turn every error into one line and an exit code."""

import argparse
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from cloudconsole.cli import messages, stdout
from cloudconsole.cli.errors import EXIT_FAILED, EXIT_NOT_CONNECTED, EXIT_OK, EXIT_USAGE, CommandError, print_error
from cloudconsole.cli.i18n import translate
from cloudconsole.spec.text_escaping import LONG_LENGTH, escape_and_truncate

_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL makes of a response in plain text."""

if TYPE_CHECKING:
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import ConsoleError
    from cloudconsole.spec.i18n import Text


def run_command(arguments: argparse.Namespace, command: "Callable[[ConsoleSession], int | None]") -> int:
    # Imported late: help and argument errors do not need the HTTP library.
    from cloudconsole.cli.connection import ConsoleSession
    from cloudconsole.client import ConsoleError

    url = None
    try:
        with ConsoleSession(arguments) as call:
            url = call.url
            return command(call) or EXIT_OK
    except CommandError as problem:
        print_error(str(problem))
        return problem.exit_code
    except ConsoleError as error:
        stdout.flush()
        return report_error(error, url, is_verbose=arguments.verbose)


def report_error(error: "ConsoleError", url: str | None, *, is_verbose: bool) -> int:
    print_error(describe_error(error, url))
    if is_verbose:
        facts = {
            "code": error.code,
            "error": error.error,
            "field": error.field,
            "request_id": error.request_id,
            "address": url,
            "cause": _cause(error),
        }
        sys.stderr.flush()
        details = {name: escape_and_truncate(value, LONG_LENGTH) for name, value in facts.items() if value is not None}
        print_error("\n".join(f"  {translate(messages.DETAILS[name])}: {value}" for name, value in details.items()))
    return exit_code_for(error)


def describe_error(error: "ConsoleError", url: str | None = None) -> str:
    """Describe an error in one line; other client messages are English, so Chinese output adds the kind of error."""
    from cloudconsole.client import ConnectionFailed, ProtocolError, RateLimited, RegionRequired

    # The pattern takes long for long texts, which servers may send.
    text = " ".join(str(error)[:_MAX_MATCHED].split())
    message = escape_and_truncate(describe_tls_errors(text), LONG_LENGTH)
    if isinstance(error, RegionRequired):
        return translate(
            messages.REGION_REQUIRED, regions=escape_and_truncate(", ".join(error.regions) or "-", LONG_LENGTH)
        )
    if isinstance(error, RateLimited) and error.retry_after:
        return translate(messages.RETRY_AFTER, message=message, seconds=round(error.retry_after))
    unreachable = _UNREACHABLE.fullmatch(message)
    if isinstance(error, ConnectionFailed) and unreachable:
        why = unreachable["why"]
        known = messages.REASONS.get(why)
        return translate(messages.CANNOT_REACH, url=unreachable["url"], why=translate(known) if known else why)
    if error.error == _UNKNOWN_ACTION:
        return translate(messages.UNKNOWN_ACTION)
    if error.error == _WRONG_PATH and url:
        return translate(messages.NOT_A_CONSOLE, url=escape_and_truncate(url), code=error.code)
    if error.error is None and _STATUS_ONLY.fullmatch(message):
        status = messages.NOT_A_CONSOLE if url and error.code in _NO_SUCH_PATH else messages.STATUS_ONLY
        return translate(status, url=escape_and_truncate(url or ""), code=error.code)
    kinds: dict[type[ConsoleError], Text] = {
        ConnectionFailed: messages.CANNOT_CONNECT,
        ProtocolError: messages.PROTOCOL_ERROR,
    }
    kind = kinds.get(type(error))
    return translate(kind, message=message) if kind else message


_MAX_MATCHED: Final = 4000
_UNREACHABLE: Final = re.compile(r"cannot reach (?P<url>\S+): (?:\[Errno -?\d+\] )?(?P<why>.+)")
_STATUS_ONLY: Final = re.compile(r"the console responded with status \d+")
_NO_SUCH_PATH: Final = (404, 405, 501)
_UNKNOWN_ACTION: Final = "unknown_action"
_WRONG_PATH: Final = "not_found"
"""What a console responds if the URL has a path too many."""
_OPENSSL: Final = re.compile(r"\[SSL(?:: (?P<reason>\w+))?\] (?P<text>.*?) \(_ssl\.c:\d+\)")


def describe_tls_errors(text: str) -> str:
    """Replace errors of OpenSSL in a text by what they mean, and what to do."""
    return _OPENSSL.sub(_tls_problem, text)


def _tls_problem(openssl: re.Match[str]) -> str:
    """Say in words what OpenSSL reports, and what to do."""
    why = openssl["text"].removeprefix("certificate verify failed: ").rstrip(".")
    if openssl["reason"] == "CERTIFICATE_VERIFY_FAILED":
        is_time = "expired" in why or "not yet valid" in why
        text = messages.TLS_EXPIRED if is_time else messages.TLS_OTHER_HOST if "mismatch" in why else None
        return translate(text or messages.TLS_UNTRUSTED, why=why)
    return translate(messages.TLS_PLAIN if openssl["reason"] in _NOT_TLS else messages.TLS_FAILED, why=why)


def exit_code_for(error: "ConsoleError") -> int:
    from cloudconsole.client import ConnectionFailed, RegionRequired

    if isinstance(error, RegionRequired):
        return EXIT_USAGE
    return EXIT_NOT_CONNECTED if isinstance(error, ConnectionFailed) else EXIT_FAILED


def _cause(error: BaseException) -> str | None:
    cause = error.__cause__
    return f"{type(cause).__name__}: {cause}" if cause is not None else None
