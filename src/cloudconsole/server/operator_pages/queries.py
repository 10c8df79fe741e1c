"""What a page's address asks for."""

from urllib.parse import parse_qsl

from cloudconsole.server.http.request import Request

LONGEST_QUERY = 8192


def query_of(request: Request) -> dict[str, str]:
    """The fields of the query; of a repeated one the last counts, and what is no text is none."""
    text = request.query[:LONGEST_QUERY].decode("latin-1")
    return dict(parse_qsl(text, keep_blank_values=True, errors="replace"))
