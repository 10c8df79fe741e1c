# ruff: noqa: A005 - named after the package it tests; `tests` itself is never on the path
