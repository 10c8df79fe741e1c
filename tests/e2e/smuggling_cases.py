"""Requests that one server could end at another byte than the next, each with a second request hidden in it."""

from typing import Final

PATH: Final = "/smuggled"
HIDDEN: Final = f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
"""A request that is part of the body, or of nothing: 404 if a server takes it for one."""


def _post(*lines: str | bytes, body: bytes = HIDDEN) -> bytes:
    """A request with these header lines as they are, and a body that hides a request."""
    encoded = [line if isinstance(line, bytes) else line.encode("latin-1") for line in lines]
    return b"\r\n".join([b"POST /api/ HTTP/1.1", b"Host: 127.0.0.1", *encoded, b"", body])


_LENGTH: Final = f"Content-Length: {len(HIDDEN)}"
_CHUNKED: Final = "Transfer-Encoding: chunked"
_END: Final = b"0\r\n\r\n"
_WHOLE: Final = b"%x\r\n%b\r\n%b" % (len(HIDDEN), HIDDEN, _END)
"""The hidden request as one chunk."""


def _lengths() -> dict[str, bytes]:
    size = len(HIDDEN)
    values = {
        "plus sign": f"+{size}",
        "minus sign": "-1",
        "hexadecimal": f"0x{size:x}",
        "underscore": "5_1",
        "decimal point": f"{size}.0",
        "exponent": "5e1",
        "empty": "",
        "text": "abc",
        "digits and text": f"{size}abc",
        "space inside": "5 1",
        "tab inside": "5\t1",
        "comma list of equals": f"{size}, {size}",
        "comma list of others": f"0, {size}",
        "trailing comma": f"{size},",
        "quoted": f'"{size}"',
        "other digits": "\u00b2",
        "over 64 bits": str(2**64 + size),
        "over 63 bits": str(2**63),
    }
    return {f"length: {name}": _post(f"Content-Length: {value}") for name, value in values.items()}


def _repeated() -> dict[str, bytes]:
    return {
        "repeated length, equal": _post(_LENGTH, _LENGTH),
        "repeated length, first zero": _post("Content-Length: 0", _LENGTH),
        "repeated length, last zero": _post(_LENGTH, "Content-Length: 0"),
        "repeated length in other case": _post("Content-Length: 0", f"CONTENT-LENGTH: {len(HIDDEN)}"),
        "repeated encoding, both chunked": _post(_CHUNKED, _CHUNKED, body=_END + HIDDEN),
        "repeated encoding, identity last": _post(_CHUNKED, "Transfer-Encoding: identity", body=_END + HIDDEN),
        "repeated encoding, identity first": _post("Transfer-Encoding: identity", _CHUNKED, body=_END + HIDDEN),
        "repeated host": _post("Host: other.example", "Content-Length: 0", body=b""),
    }


def _both() -> dict[str, bytes]:
    size = len(_END + HIDDEN)
    return {
        "length of all, then chunked": _post(f"Content-Length: {size}", _CHUNKED, body=_END + HIDDEN),
        "chunked, then length of all": _post(_CHUNKED, f"Content-Length: {size}", body=_END + HIDDEN),
        "length zero, then chunked": _post("Content-Length: 0", _CHUNKED, body=_WHOLE),
        "chunked, then length zero": _post(_CHUNKED, "Content-Length: 0", body=_WHOLE),
        "length and identity": _post(_LENGTH, "Transfer-Encoding: identity"),
        "length and gzip": _post(_LENGTH, "Transfer-Encoding: gzip"),
        "length and unknown encoding": _post(_LENGTH, "Transfer-Encoding: x"),
        "length and empty encoding": _post(_LENGTH, "Transfer-Encoding:"),
    }


def _encodings() -> dict[str, bytes]:
    values = {
        "upper case": "CHUNKED",
        "in quotes": '"chunked"',
        "after gzip": "gzip, chunked",
        "before gzip": "chunked, gzip",
        "before identity": "chunked, identity",
        "twice in a list": "chunked, chunked",
        "with a parameter": "chunked;a=b",
        "with a trailing comma": "chunked,",
        "with a leading comma": ",chunked",
        "with a prefix": "xchunked",
        "with a suffix": "chunkedx",
        "misspelled": "chunk",
        "with a vertical tab": "\x0bchunked",
        "with a form feed": "\x0cchunked",
        "with a null": "chunked\x00",
        "with a trailing tab": "chunked\t",
        "with a line separator": "\x85chunked",
    }
    return {
        f"chunked {name}": _post(f"Transfer-Encoding: {value}", body=_END + HIDDEN) for name, value in values.items()
    }


def _names() -> dict[str, bytes]:
    lines = {
        "space before the colon": "Transfer-Encoding : chunked",
        "tab before the colon": "Transfer-Encoding\t: chunked",
        "space before the name": " Transfer-Encoding: chunked",
        "tab before the name": "\tTransfer-Encoding: chunked",
        "underscore in the name": "Transfer_Encoding: chunked",
        "space in the name": "Transfer Encoding: chunked",
        "null in the name": "Transfer-Encoding\x00: chunked",
        "no colon": "Transfer-Encoding chunked",
        "empty name": ": chunked",
        "non-ASCII name": "Transfer-Encod\u00efng: chunked",
        "length with a space before the colon": f"Content-Length : {len(HIDDEN)}",
        "length with an underscore": f"Content_Length: {len(HIDDEN)}",
    }
    return {f"name: {name}": _post(line, body=_END + HIDDEN) for name, line in lines.items()}


def _lines() -> dict[str, bytes]:
    folded = "Transfer-Encoding:\r\n chunked"
    return {
        "folded value": _post(folded, body=_END + HIDDEN),
        "folded value with a tab": _post(folded.replace(" ", "\t"), body=_END + HIDDEN),
        "folded other header": _post("X-Folded: a", " b", "Content-Length: 0", body=b""),
        "folded first line": b"POST /api/ HTTP/1.1\r\n Host: 127.0.0.1\r\n\r\n",
        "bare LF after a header": _post(f"X: a\n{_CHUNKED}", body=_END + HIDDEN),
        "bare LF everywhere": _post(_LENGTH).replace(b"\r\n", b"\n"),
        "bare LF after the request line": b"POST /api/ HTTP/1.1\n" + _post(_LENGTH).partition(b"\r\n")[2],
        "bare LF before the body": _post(_LENGTH).replace(b"\r\n\r\nGET", b"\r\n\nGET"),
        "bare CR in a value": _post(f"X: a\r{_CHUNKED}", body=_END + HIDDEN),
        "bare CR after the request line": b"POST /api/ HTTP/1.1\r" + _post(_LENGTH).partition(b"\r\n")[2],
        "CR CR LF": _post(f"X: a\r\r\n{_CHUNKED}", body=_END + HIDDEN),
        "null in a value": _post("X: a\x00b", "Content-Length: 0", body=b""),
    }


def _chunks() -> dict[str, bytes]:
    size = len(HIDDEN)
    bodies = {
        "size with a plus sign": b"+%x\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "size with a minus sign": b"-1\r\n" + HIDDEN,
        "size with 0x": b"0x%x\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "size with an underscore": b"1_0\r\n" + HIDDEN,
        "size with a leading space": b" %x\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "size with a trailing space": b"%x \r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "size with a trailing tab": b"%x\t\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "size over 64 bits": b"1%016x\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "size of many zeros": b"0" * 40 + b"%x\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "empty size": b"\r\n" + HIDDEN,
        "size that is text": b"z\r\n" + HIDDEN,
        "size too small": b"1\r\n%b\r\n0\r\n\r\n" % HIDDEN,
        "no CRLF after the data": b"%x\r\n%b0\r\n\r\n" % (size, HIDDEN),
        "LF after the data": b"%x\r\n%b\n0\r\n\r\n" % (size, HIDDEN),
        "LF after the size": b"%x\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "CR after the size": b"%x\r%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "LF after the last size": b"0\n\r\n" + HIDDEN,
        "LF at the end": b"0\r\n\n" + HIDDEN,
        "extension": b"%x;a=b\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "extension with LF": b"%x;a\nb\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "extension with CR": b"%x;a\rb\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "extension in quotes": b'%x;a="b\r\n%b\r\n0\r\n\r\n' % (size, HIDDEN),
        "extension after a space": b"%x ;a=b\r\n%b\r\n0\r\n\r\n" % (size, HIDDEN),
        "trailer with a length": b"0\r\nContent-Length: %d\r\n\r\n" % size + HIDDEN,
        "trailer with an encoding": b"0\r\nTransfer-Encoding: chunked\r\n\r\n" + HIDDEN,
        "malformed trailer": b"0\r\n" + HIDDEN,
        "folded trailer": b"0\r\nA: b\r\n c\r\n\r\n",
    }
    return {f"chunk: {name}": _post(_CHUNKED, body=body) for name, body in bodies.items()}


def _request_lines() -> dict[str, bytes]:
    rest = b"\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + _END + HIDDEN
    firsts = {
        "HTTP/1.0 with an encoding": b"POST /api/ HTTP/1.0",
        "HTTP/0.9": b"GET /api/",
        "HTTP/1.2": b"POST /api/ HTTP/1.2",
        "HTTP/2.0": b"POST /api/ HTTP/2.0",
        "lower-case protocol": b"POST /api/ http/1.1",
        "two spaces": b"POST  /api/ HTTP/1.1",
        "tab as a space": b"POST\t/api/ HTTP/1.1",
        "space in the target": b"POST /api/ x HTTP/1.1",
        "trailing space": b"POST /api/ HTTP/1.1 ",
        "null in the target": b"POST /api/\x00 HTTP/1.1",
        "LF in the target": b"POST /api/\nX: HTTP/1.1",
        "unknown method": b"SMUGGLE /api/ HTTP/1.1",
        "lower-case method": b"post /api/ HTTP/1.1",
        "absolute target of another host": b"POST http://other.example/api/ HTTP/1.1",
    }
    return {f"request line: {name}": first + rest for name, first in firsts.items()}


def _other_bodies() -> dict[str, bytes]:
    with_length, with_chunks = _post(_LENGTH), _post(_CHUNKED, body=_WHOLE)
    upgrade = ("Connection: upgrade", "Upgrade: h2c")
    return {
        **{
            f"{method} with a length": with_length.replace(b"POST", method.encode())
            for method in ("GET", "HEAD", "OPTIONS")
        },
        "GET with chunks": with_chunks.replace(b"POST", b"GET"),
        "GET with Expect": _post("Expect: 100-continue", _LENGTH).replace(b"POST", b"GET"),
        "upgrade with a length": _post(*upgrade, _LENGTH).replace(b"POST", b"GET"),
        "upgrade with chunks": _post(*upgrade, _CHUNKED, body=_WHOLE).replace(b"POST", b"GET"),
        "length and connection header naming it": _post("Connection: content-length", _LENGTH),
    }


CASES: Final = {
    **_lengths(),
    **_repeated(),
    **_both(),
    **_encodings(),
    **_names(),
    **_lines(),
    **_chunks(),
    **_request_lines(),
    **_other_bodies(),
}

AMBIGUOUS: Final = [400]
"""Statuses of the console's responses, unless the request is listed below."""
_BODY_READ: Final = [415]
_BODY_ENDS_BEFORE: Final = [415, 404]
"""The hidden request follows the last chunk, so it is one."""
OTHERS: Final = {
    "length: over 63 bits": [413],
    "repeated encoding, identity first": _BODY_ENDS_BEFORE,
    "chunked upper case": _BODY_ENDS_BEFORE,
    "chunked after gzip": _BODY_ENDS_BEFORE,
    "chunked with a leading comma": _BODY_ENDS_BEFORE,
    "request line: two spaces": _BODY_ENDS_BEFORE,
    "request line: absolute target of another host": _BODY_ENDS_BEFORE,
    # Another name is another header, so there is no body, and what follows is not a request.
    "name: underscore in the name": _BODY_READ,
    "name: length with an underscore": _BODY_READ,
    "chunk: size of many zeros": _BODY_READ,
    "chunk: extension": _BODY_READ,
    "length and connection header naming it": _BODY_READ,
    # Nothing is read after a request of another version.
    "request line: HTTP/1.0 with an encoding": _BODY_READ,
    "request line: HTTP/2.0": _BODY_READ,
    "request line: LF in the target": _BODY_READ,
    "request line: HTTP/0.9": [200],
    "GET with a length": [200],
    "GET with chunks": [200],
    "GET with Expect": [200],
    "HEAD with a length": [200],
    "OPTIONS with a length": [204],
    "upgrade with a length": [200],
    "upgrade with chunks": [200],
}
