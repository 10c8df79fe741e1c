"""Whether a file has the prices that its resources need."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from cloudconsole.core.resources import PRICED_UNITS
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.errors import Finding
from cloudconsole.operator.fitting import price_findings
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.models import Price, Resource
from cloudconsole.operator.rules import unpriced_problem

_EVERYWHERE: Final = None
_ANYWHERE: Final = UNUSABLE
_ANY_PRICE: Final[Price] = UNUSABLE


class Prices:
    """From when on each kind has a price on a node, everywhere, and anywhere at all.

    Where a price has a problem, it counts as all that it may be once that is solved.
    """

    def __init__(self, model: CloudFile) -> None:
        self._nodes = frozenset(model.nodes) - {UNUSABLE}
        self._starts: dict[str, dict[Any, int]] = {kind: {} for kind in PRICED_UNITS}
        for price in [_ANY_PRICE] if model.prices is UNUSABLE else model.prices:
            self._add(price)

    def findings(self, resource: Resource) -> Iterator[Finding]:
        """What is said of a resource that surely has no price when it starts."""
        if UNUSABLE in (resource.kind, resource.started) or resource.node is None:
            return
        node = resource.node if resource.node in self._nodes else _ANYWHERE
        starts = self._starts.get(resource.kind, {})
        problem = unpriced_problem(resource.kind, node, resource.started, starts)
        if problem is not None:
            yield ("started",), problem

    def _add(self, price: Price) -> None:
        is_kind_known = price.kind is not UNUSABLE and not any(price_findings(price))
        if is_kind_known and price.unit is not UNUSABLE and price.type not in (None, UNUSABLE):
            # No resource of a file has a type.
            return
        kinds = [price.kind] if is_kind_known else PRICED_UNITS
        node = price.node if price.node in self._nodes else _EVERYWHERE
        start = 0 if price.start is UNUSABLE else price.start
        for kind, place in product(kinds, (node, _ANYWHERE)):
            starts = self._starts[kind]
            starts[place] = min(start, starts.get(place, start))
