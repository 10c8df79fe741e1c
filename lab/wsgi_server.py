"""Serve an OpenStack WSGI application, in the lab's environment: wsgi_server.py MODULE HOST PORT [ARGUMENT...]."""

import importlib
import sys
from collections.abc import Iterable
from typing import Any

import waitress
from oslo_context import context

module, host, port = sys.argv[1:4]
sys.argv[1:] = sys.argv[4:]  # applications parse their command line
application = importlib.import_module(module).application


def without_stale_context(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Drop the thread's previous request context, in which Keystone caches tokens that may have been revoked."""
    context._request_store.context = None
    return application(environ, start_response)  # type: ignore[no-any-return]


waitress.serve(without_stale_context, host=host, port=int(port), threads=8, ident=None)
