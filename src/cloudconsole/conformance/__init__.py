"""Conformance suite: checks any console over HTTP, section by section.

`checks` defines a check; `interface` and `extended` contain the two profiles; `runner` lists and runs all checks. A
check uses a `context`, which sends requests with the `client` within the `limits` and caches facts about the console.
`responses` interprets responses, `assertions` and `field_types` test them, `payload_check_decorators` runs a check on
every payload of an action, `redaction` removes secrets from notes, and `reports` formats the results.
"""
