"""What the store has for a project: that it is let in, and prices for its things and for what may be made there."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from cloudconsole.backends.openstack.billable import Holding
from cloudconsole.backends.openstack.costs import description, hourly_of, pricing_words
from cloudconsole.backends.prices import KeptPrices, PriceList
from cloudconsole.core.ports import Access
from cloudconsole.core.resources import Amounts
from cloudconsole.server.doctor.cloud_visit import Seen
from cloudconsole.server.doctor.findings import Case, Finding, argument, ok, problem, warning
from cloudconsole.server.doctor.obstacles import obstacle_of
from cloudconsole.server.doctor.price_checks import PRICE_IT
from cloudconsole.server.doctor.probe import quote
from cloudconsole.server.doctor.reasons import reason_of
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import PARTS, Store, read_with
from cloudconsole.store.openstack import tenant_of_project
from cloudconsole.store.sqlite.engine import database_file

MOST_NAMED: Final = 10
_MB_PER_GB: Final = 1024
_TENANT: Final = "SELECT name FROM tenants WHERE id = ?"


def store_findings(case: Case, seen: Seen, access: Access) -> Iterator[Finding]:
    if _is_missing(case):
        yield warning("prices were not looked at: there is no store", "mend that first, then run doctor again")
        return
    try:
        disabled, prices = asyncio.run(_read(case.settings.store, access))
    except Unavailable:
        yield warning("prices could not be read", "mend the databases first, then run doctor again")
        return
    if disabled is not None:
        yield problem(
            f"the tenant of the project {quote(seen.project)} is disabled: the console lets nobody of it in",
            "enable it",
            case.command("admin", "tenant", "enable", *argument(disabled)),
        )
    yield from _prices(case, prices, seen)


def _is_missing(case: Case) -> bool:
    folder = case.settings.data
    if case.settings.database is not None:
        return False
    return obstacle_of(case) is not None or not all(database_file(folder, part).is_file() for part in PARTS)


async def _read(store: Store, access: Access) -> tuple[str | None, PriceList]:
    """Return the name of the project's tenant, if it is disabled, and the prices."""
    async with read_with(store) as reader:
        found = await tenant_of_project(reader, f"{access.project_id}@{access.endpoint}")
        async with reader.snapshot() as moment:
            prices = await KeptPrices(of_types=True).read(moment)
            if found is None or not found[1]:
                return None, prices
            tenant = await moment.one(_TENANT, (found[0],))
    return (None if tenant is None else str(tenant[0])), prices


def _prices(case: Case, prices: PriceList, seen: Seen) -> Iterator[Finding]:
    held, now = seen.holdings, case.now
    if isinstance(held, Exception):
        yield problem(
            f"what the project {quote(seen.project)} has that costs money cannot be read: {reason_of(held)}",
            "look at the services above",
        )
        held = []
    without = _without_price(prices, held, now)
    for what, holdings in _first(without):
        yield problem(
            f"the project {quote(seen.project)} has {len(holdings)} × {what}{_where(holdings)} without a price: "
            "its estimate is an error",
            *_priced(case, holdings[0]),
        )
    on_offer = _without_price(prices, _on_offer(seen), now)
    offered = {what: holdings for what, holdings in on_offer.items() if what not in without}
    for what, holdings in _first(offered):
        yield warning(
            f"no price for {what}{_where(holdings)}: who makes one gets an error for an estimate",
            *_priced(case, holdings[0]),
        )
    left_out = sum(max(0, len(found) - MOST_NAMED) for found in (without, offered))
    if left_out:
        yield warning(f"and {left_out} more have no price", "give these first, then run doctor again")
    if not without and not offered:
        yield ok(f"all {len(held)} of the project's things, and all flavors and volume types on offer, have a price")


def _priced(case: Case, holding: Holding) -> tuple[str, str]:
    """Return the advice for what has no price, in words and as a command."""
    return PRICE_IT, case.command(*pricing_words(holding, case.now, "0"))


def _without_price(prices: PriceList, holdings: Iterable[Holding], now: float) -> dict[str, list[Holding]]:
    """Those without, by what they are."""
    found: dict[str, list[Holding]] = {}
    for holding in holdings:
        if hourly_of(holding, holding.amounts, prices, min(now, holding.ended_at or now)) is None:
            found.setdefault(description(holding), []).append(holding)
    return found


def _on_offer(seen: Seen) -> Iterator[Holding]:
    """What could be made, as if it were."""
    for region, flavors in seen.flavors.items():
        for flavor in flavors:
            ram_gb = -(-flavor.ram // _MB_PER_GB)
            amounts = Amounts(items=1, vcpus=flavor.vcpus, ram_mb=flavor.ram, ram_gb=ram_gb)
            yield Holding(region, "instance", flavor.id, amounts, flavor.name)
    for region, types in seen.volume_types.items():
        for volume_type in types:
            yield Holding(region, "volume", volume_type.id, Amounts(items=1, size_gb=1), volume_type.name)


def _first(found: dict[str, list[Holding]]) -> list[tuple[str, list[Holding]]]:
    return list(found.items())[:MOST_NAMED]


def _where(holdings: list[Holding]) -> str:
    return f" in {', '.join(dict.fromkeys(holding.region for holding in holdings))}"
