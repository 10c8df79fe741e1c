"""Checks of OpenStack: identity endpoints, services, projects and prices."""

import asyncio
from collections.abc import Iterable, Iterator
from ssl import SSLCertVerificationError, SSLError
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from cloudconsole.backends.openstack.billable import BillableResource
from cloudconsole.backends.openstack.config import SERVICES, Endpoint
from cloudconsole.backends.openstack.costs import description, hourly_of, price_description
from cloudconsole.backends.prices import CachedPrices, PriceList
from cloudconsole.core.ports import CloudCredentials
from cloudconsole.core.pricing import clock_hour
from cloudconsole.core.resources import Amounts
from cloudconsole.server.doctor.http_probe import (
    NoResponse,
    ProbeResponse,
    certificate_findings,
    clock_findings,
    probe,
    quoted,
    speaks_https,
)
from cloudconsole.server.doctor.openstack_probe import ProbeResult, describe_failure, probe_cloud
from cloudconsole.server.doctor.results import (
    DoctorContext,
    Finding,
    Login,
    ok,
    problem,
    quote_argument,
    run_with_timeout,
    warning,
)
from cloudconsole.server.doctor.sqlite import access_problem
from cloudconsole.server.doctor.store import PRICE_COMMAND
from cloudconsole.server.net import is_loopback
from cloudconsole.spec.errors import ApiError, NoProject, Unavailable
from cloudconsole.store.base import DATABASE_NAMES, Store, run_with_reader
from cloudconsole.store.openstack import tenant_of_project
from cloudconsole.store.sqlite.engine import database_file

if TYPE_CHECKING:
    from cloudconsole.core.ports import FederatedUser

VERSION_PATH: Final = "/v3"
_WHERE_IT_STANDS: Final = "it is what clouds.yaml calls auth_url, and an RC file OS_AUTH_URL"


def keystone_endpoints(case: DoctorContext) -> list[Endpoint]:
    """Those behind which there is an OpenStack."""
    return [each.keystone for each in case.settings.identity if each.keystone is not None]


def check_endpoints(case: DoctorContext) -> Iterator[Finding]:
    endpoints = keystone_endpoints(case)
    for endpoint in endpoints:
        yield from _endpoint(case, endpoint)
    if not endpoints:
        local = ", ".join(each.address for each in case.settings.identity)
        yield ok(f"none is of kind keystone{f'; at {local} the console knows its own accounts only' if local else ''}")


def _endpoint(case: DoctorContext, endpoint: Endpoint) -> Iterator[Finding]:
    address = endpoint.address
    yield from _plain_http(address)
    try:
        response = probe(address, VERSION_PATH, ca_file=endpoint.ca_file)
    except NoResponse as reason:
        yield _silence(address, reason)
        return
    yield _answered(address, response)
    yield from clock_findings(f"the clock of {address}", response, ": tokens end at another time than it seems")
    yield from certificate_findings(f"the certificate of {address}", response, case.now, "renew it there")


def _plain_http(address: str) -> Iterator[Finding]:
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        yield warning(
            f"{address} is plain http to another machine: passwords and tokens can be read on the way",
            "serve it by https and give that address",
        )


def _silence(address: str, reason: NoResponse) -> Finding:
    cause = reason.__cause__
    if isinstance(cause, SSLCertVerificationError):
        return problem(
            f"the certificate of {address} is not to be trusted: {quoted(cause.verify_message)}",
            "give the certificates that vouch for it as the endpoint's ca_file, or renew it there",
        )
    if isinstance(cause, SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
        return problem(
            f"what answers at {address} speaks no https", "give its address with http:, or serve it by https"
        )
    if address.startswith("http:") and reason.was_reached and speaks_https(address):
        return problem(f"what answers at {address} speaks https, not plain http", "give its address with https:")
    if reason.was_reached:
        return problem(f"what is at {address} does not answer as a Keystone does: {reason}", _address_mend())
    return problem(
        f"nobody can log in through {address}, where nothing answers: {reason}",
        "look whether Keystone runs, at its address, the firewall and the name service entry",
    )


def _answered(address: str, response: ProbeResponse) -> Finding:
    place = address + VERSION_PATH
    elsewhere = response.headers["Location"]
    if 300 <= response.status < 400 and elsewhere is not None:
        return problem(
            f"{place} sends callers on to {quoted(repr(elsewhere))}, where no password is sent",
            "give the address where callers end up",
        )
    if response.status >= 500:
        return problem(f"{place} answers {response.status}: Keystone does not work", "look at its log and its database")
    version, status = response.version.get("id"), response.version.get("status")
    if response.status != 200 or not str(version).startswith("v3"):
        return problem(f"{place} answers {response.status}, and not as a Keystone of version 3 does", _address_mend())
    return ok(f"{address} is a Keystone of version {quoted(version).removeprefix('v')}, {quoted(status)}")


def _address_mend() -> str:
    return f"look at the address: {_WHERE_IT_STANDS}"


LONGEST_SECONDS: Final = 120
"""For a whole visit; each of its calls has a shorter time."""
_EXPECTED: Final = tuple(service for service in SERVICES if service != "identity")
_MAY_BE_MISSING: Final = "load-balancer"


def check_cloud(case: DoctorContext) -> Iterator[Finding]:
    endpoints = {endpoint.address: endpoint for endpoint in keystone_endpoints(case)}
    if not endpoints:
        yield ok("there is none: no identity endpoint is of kind keystone")
    elif case.login is None:
        yield ok("looked at only from outside; cloudconsole doctor --as USER looks at services and prices, too")
    else:
        yield from _seen_by(case, case.login, endpoints[case.login.address])


def _seen_by(case: DoctorContext, login: Login, endpoint: Endpoint) -> Iterator[Finding]:
    who = f"{login.username} at {login.address}"
    try:
        since = clock_hour(case.now, case.settings.zone).start
        seen = run_with_timeout(LONGEST_SECONDS, lambda: probe_cloud(endpoint, login, since))
    except NoProject:
        yield _without_project(who, endpoint)
        return
    except (ApiError, TimeoutError) as failure:
        yield problem(f"there is no telling who {who} is: {describe_failure(failure)}", "look at Keystone and its log")
        return
    if seen.guest is None:
        yield problem(
            f"Keystone refuses {who}, in the domain {endpoint.user_domain}",
            "look at name, password and the endpoint's user_domain, and whether the user is disabled or locked",
        )
        return
    lasts = (seen.guest.expires_at - case.now) / 60
    yield ok(f"{who} works in the project {quoted(seen.project)}; the token lasts {lasts:.0f} minutes")
    yield from _regions(seen, seen.guest, endpoint)
    if seen.services:
        yield from project_findings(case, seen, seen.guest.credentials)


def _without_project(who: str, endpoint: Endpoint) -> Finding:
    name = f"is called {endpoint.project}" if endpoint.project else "is named by the endpoint's project"
    return problem(
        f"{who} cannot log in to the console: there is no default project, not only one, and none {name}",
        "set the user's default project in Keystone, or the endpoint's project",
    )


def _regions(seen: "ProbeResult", user: "FederatedUser", endpoint: Endpoint) -> Iterator[Finding]:
    services = user.credentials.services
    for region in endpoint.regions:
        if region not in services:
            yield problem(
                f"the region {region} is set, but the catalog has nothing {endpoint.interface} there",
                "compare its name letter by letter (openstack region list), and the interface (openstack catalog list)",
            )
    if not any("compute" in there for there in services.values()):
        yield problem(
            f"the catalog has no {endpoint.interface} compute service: nothing can be told to tenants",
            "look at the endpoint's regions and interface, and at the catalog (openstack catalog list)",
        )
    for region, there in services.items():
        yield from _services(region, there, seen, endpoint)


def _services(region: str, there: Iterable[str], seen: "ProbeResult", endpoint: Endpoint) -> Iterator[Finding]:
    name = f"region {quoted(region)}"
    missing = [service for service in _EXPECTED if service not in there]
    grave = [service for service in missing if service != _MAY_BE_MISSING]
    if grave:
        yield warning(
            f"{name} has no {endpoint.interface} {', '.join(grave)}: of these tenants are told 0",
            "nothing, if it is meant so; else look at the catalog (openstack catalog list) and the interface",
        )
    answering = []
    for (place, service), failure in seen.services.items():
        if place == region and failure is None:
            answering.append(service)
        elif place == region and failure is not None:
            yield problem(
                f"{name}: {service} cannot be read: {describe_failure(failure)}",
                "look at that service and its log; at status 403 at its policy, which must let plain members read this",
            )
    told = ", and there are no load balancers" if _MAY_BE_MISSING in missing else ""
    if answering:
        yield ok(f"{name}: {', '.join(answering)} answer{'s' if len(answering) == 1 else ''}{told}")


MOST_NAMED: Final = 10
_MB_PER_GB: Final = 1024
_TENANT: Final = "SELECT name FROM tenants WHERE id = ?"


def project_findings(case: DoctorContext, seen: ProbeResult, access: CloudCredentials) -> Iterator[Finding]:
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
            f"the tenant of the project {quoted(seen.project)} is disabled: the console lets nobody of it in",
            "enable it",
            case.command("admin", "tenant", "enable", *quote_argument(disabled)),
        )
    yield from _prices(case, prices, seen)


def _is_missing(case: DoctorContext) -> bool:
    folder = case.settings.data
    if case.settings.database is not None:
        return False
    return access_problem(case) is not None or not all(database_file(folder, part).is_file() for part in DATABASE_NAMES)


async def _read(store: Store, access: CloudCredentials) -> tuple[str | None, PriceList]:
    """Return the name of the project's tenant, if it is disabled, and the prices."""
    async with run_with_reader(store) as reader:
        found = await tenant_of_project(reader, f"{access.project_id}@{access.endpoint}")
        async with reader.snapshot() as moment:
            prices = await CachedPrices(of_types=True).read(moment)
            if found is None or not found[1]:
                return None, prices
            tenant = await moment.one(_TENANT, (found[0],))
    return (None if tenant is None else str(tenant[0])), prices


def _prices(case: DoctorContext, prices: PriceList, seen: ProbeResult) -> Iterator[Finding]:
    held, now = seen.holdings, case.now
    if isinstance(held, Exception):
        yield problem(
            f"what the project {quoted(seen.project)} has that costs money cannot be read: {describe_failure(held)}",
            "look at the services above",
        )
        held = []
    without = _without_price(prices, held, now)
    for what, holdings in _first(without):
        yield problem(
            f"the project {quoted(seen.project)} has {len(holdings)} × {what}{_where(holdings)} without a price: "
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


def _priced(case: DoctorContext, holding: BillableResource) -> tuple[str, str]:
    """Return the advice for what has no price, in words and as a command."""
    return PRICE_COMMAND, case.command(*price_description(holding, case.now, "0"))


def _without_price(
    prices: PriceList, holdings: Iterable[BillableResource], now: float
) -> dict[str, list[BillableResource]]:
    """Those without, by what they are."""
    found: dict[str, list[BillableResource]] = {}
    for holding in holdings:
        if hourly_of(holding, holding.amounts, prices, min(now, holding.ended_at or now)) is None:
            found.setdefault(description(holding), []).append(holding)
    return found


def _on_offer(seen: ProbeResult) -> Iterator[BillableResource]:
    """What could be made, as if it were."""
    for region, flavors in seen.flavors.items():
        for flavor in flavors:
            ram_gb = -(-flavor.ram // _MB_PER_GB)
            amounts = Amounts(items=1, vcpus=flavor.vcpus, ram_mb=flavor.ram, ram_gb=ram_gb)
            yield BillableResource(region, "instance", flavor.id, amounts, flavor.name)
    for region, types in seen.volume_types.items():
        for volume_type in types:
            yield BillableResource(region, "volume", volume_type.id, Amounts(items=1, size_gb=1), volume_type.name)


def _first(found: dict[str, list[BillableResource]]) -> list[tuple[str, list[BillableResource]]]:
    return list(found.items())[:MOST_NAMED]


def _where(holdings: list[BillableResource]) -> str:
    return f" in {', '.join(dict.fromkeys(holding.region for holding in holdings))}"
