"""Serve one of OpenStack's WSGI applications; run by the lab's environment: serve.py MODULE HOST PORT [ARGUMENT...]."""

import importlib
import sys
from collections.abc import Iterable
from typing import Any

import waitress
from oslo_context import context

module, host, port = sys.argv[1:4]
sys.argv[1:] = sys.argv[4:]  # the applications read their command line
application = importlib.import_module(module).application


def afresh(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """A thread keeps the context of its last request, and in it Keystone what it knew then: tokens revoked since."""
    context._request_store.context = None
    return application(environ, start_response)  # type: ignore[no-any-return]


waitress.serve(afresh, host=host, port=int(port), threads=8, ident=None)
