"""Whether a file has the prices that its resources need."""

from itertools import product
from typing import Final

from cloudconsole.core.kinds import PRICED_UNITS
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.models import Price, Resource
from cloudconsole.operator.rules import unit_problem

_EVERYWHERE: Final = None
_ANYWHERE: Final = UNUSABLE
_ANY_PRICE: Final[Price] = UNUSABLE
_NEVER: Final = 2**63


class Prices:
    """From when on each kind has a price on a node, everywhere, and anywhere at all.

    Where a price has a problem, it counts as all that it may be once that is solved.
    """

    def __init__(self, model: CloudFile) -> None:
        self._nodes = frozenset(model.nodes) - {UNUSABLE}
        self._starts: dict[tuple[str, str | None], int] = {}
        for price in [_ANY_PRICE] if model.prices is UNUSABLE else model.prices:
            self._add(price)

    def lack(self, resource: Resource) -> bool:
        """Whether a resource, of a kind that is known, surely has no price when it starts."""
        if resource.kind not in PRICED_UNITS or resource.node is None or resource.started is UNUSABLE:
            return False
        node = resource.node if resource.node in self._nodes else _ANYWHERE
        starts = (self._starts.get((resource.kind, place), _NEVER) for place in (node, _EVERYWHERE))
        return resource.started < min(starts)

    def _add(self, price: Price) -> None:
        is_kind_known = price.kind is not UNUSABLE and price_problem(price) is None
        kinds = [price.kind] if is_kind_known else PRICED_UNITS
        node = price.node if price.node in self._nodes else _EVERYWHERE
        start = 0 if price.start is UNUSABLE else price.start
        for place in product(kinds, (node, _ANYWHERE)):
            self._starts[place] = min(start, self._starts.get(place, start))


def price_problem(price: Price) -> str | None:
    """Why a price's unit does not go with its kind, if both can be told."""
    return None if UNUSABLE in (price.kind, price.unit) else unit_problem(price.kind, price.unit)
