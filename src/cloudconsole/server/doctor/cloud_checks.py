"""A cloud behind the console, seen by one of its users: the services of each region, and what has no price."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from cloudconsole.backends.openstack.config import SERVICES, Endpoint
from cloudconsole.core.pricing import clock_hour
from cloudconsole.server.doctor.deadline import within
from cloudconsole.server.doctor.endpoint_checks import endpoints_of
from cloudconsole.server.doctor.findings import Case, Finding, Login, ok, problem, warning
from cloudconsole.server.doctor.probe import quote
from cloudconsole.server.doctor.reasons import reason_of
from cloudconsole.server.doctor.token_key_checks import install_extra
from cloudconsole.spec.errors import ApiError, NoProject

if TYPE_CHECKING:
    from cloudconsole.core.ports import Guest
    from cloudconsole.server.doctor.cloud_visit import Seen

LONGEST_SECONDS: Final = 120
"""For a whole visit; each of its calls has a shorter time."""
_EXPECTED: Final = tuple(service for service in SERVICES if service != "identity")
_MAY_BE_MISSING: Final = "load-balancer"


def check_cloud(case: Case) -> Iterator[Finding]:
    endpoints = {endpoint.address: endpoint for endpoint in endpoints_of(case)}
    if not endpoints:
        yield ok("there is none: no identity endpoint is of kind keystone")
    elif case.login is None:
        yield ok("looked at only from outside; cloudconsole doctor --as USER looks at services and prices, too")
    else:
        yield from _seen_by(case, case.login, endpoints[case.login.address])


def _seen_by(case: Case, login: Login, endpoint: Endpoint) -> Iterator[Finding]:
    try:
        from cloudconsole.server.doctor.cloud_visit import visit
        from cloudconsole.server.doctor.project_checks import store_findings
    except ModuleNotFoundError as missing:
        yield problem(f"{missing.name} is not installed, which an endpoint of kind keystone needs", *install_extra())
        return
    who = f"{login.username} at {login.address}"
    try:
        since = clock_hour(case.now, case.settings.zone).start
        seen = within(LONGEST_SECONDS, lambda: visit(endpoint, login, since))
    except NoProject:
        yield _without_project(who, endpoint)
        return
    except (ApiError, TimeoutError) as failure:
        yield problem(f"there is no telling who {who} is: {reason_of(failure)}", "look at Keystone and its log")
        return
    if seen.guest is None:
        yield problem(
            f"Keystone refuses {who}, in the domain {endpoint.user_domain}",
            "look at name, password and the endpoint's user_domain, and whether the user is disabled or locked",
        )
        return
    lasts = (seen.guest.expires_at - case.now) / 60
    yield ok(f"{who} works in the project {quote(seen.project)}; the token lasts {lasts:.0f} minutes")
    yield from _regions(seen, seen.guest, endpoint)
    if seen.services:
        yield from store_findings(case, seen, seen.guest.access)


def _without_project(who: str, endpoint: Endpoint) -> Finding:
    name = f"is called {endpoint.project}" if endpoint.project else "is named by the endpoint's project"
    return problem(
        f"{who} cannot log in to the console: there is no default project, not only one, and none {name}",
        "set the user's default project in Keystone, or the endpoint's project",
    )


def _regions(seen: "Seen", guest: "Guest", endpoint: Endpoint) -> Iterator[Finding]:
    services = guest.access.services
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


def _services(region: str, there: Iterable[str], seen: "Seen", endpoint: Endpoint) -> Iterator[Finding]:
    name = f"region {quote(region)}"
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
                f"{name}: {service} cannot be read: {reason_of(failure)}",
                "look at that service and its log; at status 403 at its policy, which must let plain members read this",
            )
    told = ", and there are no load balancers" if _MAY_BE_MISSING in missing else ""
    if answering:
        yield ok(f"{name}: {', '.join(answering)} answer{'s' if len(answering) == 1 else ''}{told}")
