"""Serve one of OpenStack's WSGI applications; run by the lab's environment: serve.py MODULE HOST PORT [ARGUMENT...]."""

import importlib
import sys

import waitress

module, host, port = sys.argv[1:4]
sys.argv[1:] = sys.argv[4:]  # the applications read their command line
waitress.serve(importlib.import_module(module).application, host=host, port=int(port), threads=8, ident=None)
