"""Checks of OpenStack: identity endpoints, services, projects and prices."""

import asyncio
from collections.abc import Iterable, Iterator
from ssl import SSLCertVerificationError, SSLError
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from cloudconsole.backends.openstack.config import SERVICES, Endpoint
from cloudconsole.backends.openstack.costs import description, hourly_of, price_description
from cloudconsole.backends.prices import CachedPrices
from cloudconsole.core.ports import CloudCredentials, PriceList
from cloudconsole.core.pricing import clock_hour
from cloudconsole.core.resources import Amounts, BillableResource
from cloudconsole.server.doctor.context_and_findings import (
    DoctorContext,
    Finding,
    Login,
    ok,
    problem,
    quote_argument,
    run_with_timeout,
    warning,
)
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
from cloudconsole.server.doctor.sqlite import access_problem
from cloudconsole.server.doctor.store import PRICE_COMMAND
from cloudconsole.server.ip_addresses import is_loopback
from cloudconsole.spec.errors import ApiError, NoProject, ProjectRequired, Unavailable
from cloudconsole.store.base import DATABASE_NAMES, Store, run_with_reader
from cloudconsole.store.observed_resources import tenant_of_project
from cloudconsole.store.sqlite.engine import database_file

if TYPE_CHECKING:
    from cloudconsole.core.ports import FederatedUser

VERSION_PATH: Final = "/v3"
_CHECK_ADDRESS: Final = "check the address: it is auth_url in clouds.yaml, OS_AUTH_URL in an RC file"


def keystone_endpoints(case: DoctorContext) -> list[Endpoint]:
    """Return the configured Keystone endpoints."""
    return [each.keystone for each in case.settings.identity if each.keystone is not None]


def check_endpoints(case: DoctorContext) -> Iterator[Finding]:
    endpoints = keystone_endpoints(case)
    for endpoint in endpoints:
        yield from _endpoint(case, endpoint)
    if not endpoints:
        local = ", ".join(each.address for each in case.settings.identity)
        yield ok(f"no Keystone endpoints{f'; {local} is for local accounts' if local else ''}")


def _endpoint(case: DoctorContext, endpoint: Endpoint) -> Iterator[Finding]:
    address = endpoint.address
    yield from _plain_http(address)
    try:
        response = probe(address, VERSION_PATH, ca_file=endpoint.ca_file)
    except NoResponse as reason:
        yield _no_response(address, reason)
        return
    yield _version_finding(address, response)
    yield from clock_findings(f"the clock of {address}", response, ": tokens expire earlier or later than expected")
    yield from certificate_findings(f"the certificate of {address}", response, case.now, "renew it there")


def _plain_http(address: str) -> Iterator[Finding]:
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        yield warning(
            f"{address} is plain http to another machine: passwords and tokens can be intercepted",
            "serve it over https and change the address",
        )


def _no_response(address: str, reason: NoResponse) -> Finding:
    cause = reason.__cause__
    if isinstance(cause, SSLCertVerificationError):
        return problem(
            f"the certificate of {address} is not trusted: {quoted(cause.verify_message)}",
            "set the endpoint's ca_file to the certificates of its authority, or renew it there",
        )
    if isinstance(cause, SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
        return problem(
            f"the server at {address} does not speak https", "use http: in its address, or serve it over https"
        )
    if address.startswith("http:") and reason.was_reached and speaks_https(address):
        return problem(f"the server at {address} speaks https, not plain http", "use https: in its address")
    if reason.was_reached:
        return problem(f"the server at {address} does not respond like a Keystone: {reason}", _CHECK_ADDRESS)
    return problem(
        f"login through {address} is impossible, no response: {reason}",
        "check that Keystone runs, its address, the firewall and the DNS entry",
    )


def _version_finding(address: str, response: ProbeResponse) -> Finding:
    url = address + VERSION_PATH
    target = response.headers["Location"]
    if 300 <= response.status < 400 and target is not None:
        return problem(
            f"{url} redirects to {quoted(repr(target))}; passwords are not sent there",
            "change the address to the redirect's target",
        )
    if response.status >= 500:
        return problem(f"{url} responds with status {response.status}: Keystone fails", "check its log and database")
    version, status = response.version.get("id"), response.version.get("status")
    if response.status != 200 or not str(version).startswith("v3"):
        return problem(f"{url} responds with status {response.status}, and not like a Keystone v3", _CHECK_ADDRESS)
    return ok(f"{address} is a Keystone of version {quoted(version).removeprefix('v')}, {quoted(status)}")


MAX_SECONDS: Final = 120
"""Deadline of the whole probe; each request has a shorter timeout."""
_EXPECTED: Final = tuple(service for service in SERVICES if service != "identity")
_OPTIONAL: Final = "load-balancer"


def check_cloud(case: DoctorContext) -> Iterator[Finding]:
    endpoints = {endpoint.address: endpoint for endpoint in keystone_endpoints(case)}
    if not endpoints:
        yield ok("no Keystone identity endpoint")
    elif case.login is None:
        yield ok("not logged in; cloudconsole doctor --as USER also checks services and prices")
    else:
        yield from _login_findings(case, case.login, endpoints[case.login.address])


def _login_findings(case: DoctorContext, login: Login, endpoint: Endpoint) -> Iterator[Finding]:
    who = f"{login.username} at {login.address}"
    try:
        since = clock_hour(case.now, case.settings.zone).start
        result = run_with_timeout(MAX_SECONDS, lambda: probe_cloud(endpoint, login, since))
    except (NoProject, ProjectRequired):
        yield _no_project(who, endpoint)
        return
    except (ApiError, TimeoutError) as failure:
        yield problem(f"cannot authenticate {who}: {describe_failure(failure)}", "check Keystone and its log")
        return
    if result.user is None:
        yield problem(
            f"Keystone rejects {who}, in the domain {endpoint.user_domain}",
            "check name, password and the endpoint's user_domain, and whether the user is disabled or locked",
        )
        return
    minutes = (result.user.expires_at - case.now) / 60
    yield ok(f"{who} works in the project {quoted(result.project)}; the token is valid for {minutes:.0f} minutes")
    yield from _regions(result, result.user, endpoint)
    if result.services:
        yield from project_findings(case, result, result.user.credentials)


def _no_project(who: str, endpoint: Endpoint) -> Finding:
    project = f"the project {endpoint.project} is not among them" if endpoint.project else "project is not set"
    return problem(
        f"{who} cannot log in to the console: no default project, not exactly one project, and {project}",
        "set the user's default project in Keystone, or the endpoint's project",
    )


def _regions(result: "ProbeResult", user: "FederatedUser", endpoint: Endpoint) -> Iterator[Finding]:
    services = user.credentials.services
    for region in endpoint.regions:
        if region not in services:
            yield problem(
                f"the region {region} is set, but the catalog has no {endpoint.interface} endpoints there",
                "compare its exact name (openstack region list) and the interface (openstack catalog list)",
            )
    if not any("compute" in available for available in services.values()):
        yield problem(
            f"the catalog has no {endpoint.interface} compute service: no data for tenants",
            "check the endpoint's regions and interface, and the catalog (openstack catalog list)",
        )
    for region, available in services.items():
        yield from _services(region, available, result, endpoint)


def _services(region: str, available: Iterable[str], result: "ProbeResult", endpoint: Endpoint) -> Iterator[Finding]:
    name = f"region {quoted(region)}"
    missing = [service for service in _EXPECTED if service not in available]
    required = [service for service in missing if service != _OPTIONAL]
    if required:
        yield warning(
            f"{name} has no {endpoint.interface} {', '.join(required)}: tenants see 0 for these",
            "ignore it if intended; otherwise check the catalog (openstack catalog list) and the interface",
        )
    responding = []
    for (service_region, service), failure in result.services.items():
        if service_region == region and failure is None:
            responding.append(service)
        elif service_region == region and failure is not None:
            yield problem(
                f"{name}: {service} cannot be read: {describe_failure(failure)}",
                "check that service and its log; on status 403 its policy, which must allow members to read this",
            )
    note = "; no load balancers" if _OPTIONAL in missing else ""
    if responding:
        yield ok(f"{name}: {', '.join(responding)} respond{'s' if len(responding) == 1 else ''}{note}")


MAX_LISTED: Final = 10
_MB_PER_GB: Final = 1024
_TENANT: Final = "SELECT name FROM tenants WHERE id = ?"


def project_findings(case: DoctorContext, result: ProbeResult, credentials: CloudCredentials) -> Iterator[Finding]:
    if _is_missing(case):
        yield warning("prices not checked: no store", "fix that first, then run doctor again")
        return
    try:
        disabled, prices = asyncio.run(_read(case.settings.store, credentials))
    except Unavailable:
        yield warning("prices could not be read", "fix the databases first, then run doctor again")
        return
    if disabled is not None:
        yield problem(
            f"the tenant of the project {quoted(result.project)} is disabled: its users cannot log in",
            "enable it",
            case.command("admin", "tenant", "enable", *quote_argument(disabled)),
        )
    yield from _prices(case, prices, result)


def _is_missing(case: DoctorContext) -> bool:
    data = case.settings.data
    if case.settings.database is not None:
        return False
    return access_problem(case) is not None or not all(database_file(data, part).is_file() for part in DATABASE_NAMES)


async def _read(store: Store, credentials: CloudCredentials) -> tuple[str | None, PriceList]:
    """Return the name of the project's tenant, if it is disabled, and the prices."""
    async with run_with_reader(store) as reader:
        tenant = await tenant_of_project(reader, f"{credentials.project_id}@{credentials.endpoint}")
        async with reader.snapshot() as snapshot:
            prices = await CachedPrices(of_types=True).read(snapshot)
            if tenant is None or not tenant[1]:
                return None, prices
            row = await snapshot.one(_TENANT, (tenant[0],))
    return (None if row is None else str(row[0])), prices


def _prices(case: DoctorContext, prices: PriceList, result: ProbeResult) -> Iterator[Finding]:
    billable, now = result.billable, case.now
    if isinstance(billable, Exception):
        yield problem(
            f"billable resources of the project {quoted(result.project)} cannot be read: {describe_failure(billable)}",
            "check the services above",
        )
        billable = []
    unpriced = _without_price(prices, billable, now)
    for what, resources in _first(unpriced):
        yield problem(
            f"the project {quoted(result.project)} has {len(resources)} × {what}{_where(resources)} without a price: "
            "its cost estimate fails",
            *_price_fix(case, resources[0]),
        )
    available = _without_price(prices, _available(result), now)
    unpriced_available = {what: resources for what, resources in available.items() if what not in unpriced}
    for what, resources in _first(unpriced_available):
        yield warning(
            f"no price for {what}{_where(resources)}: the cost estimate of a tenant that creates one fails",
            *_price_fix(case, resources[0]),
        )
    omitted = sum(max(0, len(group) - MAX_LISTED) for group in (unpriced, unpriced_available))
    if omitted:
        yield warning(f"{omitted} more have no price", "add the prices above first, then run doctor again")
    if not unpriced and not unpriced_available:
        yield ok(f"all {len(billable)} resources of the project, and all available flavors and volume types, have one")


def _price_fix(case: DoctorContext, resource: BillableResource) -> tuple[str, str]:
    """Return the fix for a missing price, as text and command."""
    return PRICE_COMMAND, case.command(*price_description(resource, case.now, "0"))


def _without_price(
    prices: PriceList, resources: Iterable[BillableResource], now: float
) -> dict[str, list[BillableResource]]:
    """Return the resources without a price, by description."""
    unpriced: dict[str, list[BillableResource]] = {}
    for resource in resources:
        if hourly_of(resource, resource.amounts, prices, min(now, resource.ended_at or now)) is None:
            unpriced.setdefault(description(resource), []).append(resource)
    return unpriced


def _available(result: ProbeResult) -> Iterator[BillableResource]:
    """Yield one hypothetical resource per flavor and volume type."""
    for region, flavors in result.flavors.items():
        for flavor in flavors:
            ram_gb = -(-flavor.ram // _MB_PER_GB)
            amounts = Amounts(items=1, vcpus=flavor.vcpus, ram_mb=flavor.ram, ram_gb=ram_gb)
            yield BillableResource(region, "instance", flavor.id, amounts, flavor.name)
    for region, types in result.volume_types.items():
        for volume_type in types:
            yield BillableResource(region, "volume", volume_type.id, Amounts(items=1, size_gb=1), volume_type.name)


def _first(groups: dict[str, list[BillableResource]]) -> list[tuple[str, list[BillableResource]]]:
    return list(groups.items())[:MAX_LISTED]


def _where(resources: list[BillableResource]) -> str:
    return f" in {', '.join(dict.fromkeys(resource.region for resource in resources))}"
