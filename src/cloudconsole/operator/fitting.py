"""What must fit within one thing, wherever it comes from: a command, a cloud file or a line of an import.

A field with a problem of its own is `UNUSABLE`, and nothing is said that would need it.
"""

from collections.abc import Iterator

from cloudconsole.core.clock import time_text
from cloudconsole.operator.errors import Finding
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.models import Price, Resource
from cloudconsole.operator.rules import node_problem, size_problems, type_problem, unit_problem


def price_findings(price: Price) -> Iterator[Finding]:
    if UNUSABLE in (price.kind, price.unit):
        return
    problem = unit_problem(price.kind, price.unit)
    if problem is not None:
        yield ("unit",), problem
    elif price.type not in (None, UNUSABLE):
        problem = type_problem(price.kind, price.unit)
        if problem is not None:
            yield ("type",), problem


def resource_findings(resource: Resource) -> Iterator[Finding]:
    if resource.kind is not UNUSABLE:
        yield from _size_findings(resource)
        yield from _node_findings(resource)
    times = (resource.started, resource.ended)
    if UNUSABLE not in times and resource.ended is not None and resource.ended < resource.started:
        yield ("ended",), f"must not be before its start, {time_text(resource.started)}"


def _size_findings(resource: Resource) -> Iterator[Finding]:
    sizes = resource.sizes
    given = {name: sizes[name] for name in sizes if name in resource.model_fields_set}
    numbers = {name: 0 if size is UNUSABLE else size for name, size in given.items()}
    for name, message in size_problems(resource.kind, numbers):
        if sizes[name] is not UNUSABLE:
            yield (name,), message


def _node_findings(resource: Resource) -> Iterator[Finding]:
    problem = None if resource.node is UNUSABLE else node_problem(resource.kind, resource.node)
    if problem is not None:
        yield ("node",), problem
