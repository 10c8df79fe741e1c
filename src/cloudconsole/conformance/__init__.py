"""Conformance suite: checks any console over HTTP, section by section.

`checks` defines a check; `interface` and `extended` contain the two profiles; `runner` lists and runs all checks. A
check uses a `context`, which sends requests with the `client` within the `limits` and caches facts about the console.
`responses` interprets responses, `assertions` and `schemas` test them, `redaction` removes secrets from notes, and
`reports` formats the results.
"""
