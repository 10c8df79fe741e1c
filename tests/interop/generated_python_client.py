"""Log in and call all six actions with the client that openapi-python-client generated from the OpenAPI document.

Runs in the environment of the generator, which has the generated package's dependencies: usage: BASE_URL.
"""

import sys

from cloud_console_client import Client
from cloud_console_client.api.default import call, log_in, log_out, open_
from cloud_console_client.models import (
    GetConsumptionsEstimatedAnswer,
    GetConsumptionsEstimatedBody,
    GetDomainDetailAnswer,
    GetDomainDetailBody,
    GetFlavorsAnswer,
    GetFlavorsBody,
    GetNewsAnswer,
    GetNewsBody,
    GetUrlListAnswer,
    GetUrlListBody,
    GetUsageLimitsAnswer,
    GetUsageLimitsBody,
    LoginForm,
    Refusal,
    WelcomeAnswer,
)

ACTIONS = [
    (GetUsageLimitsBody(action="GetUsageLimits"), GetUsageLimitsAnswer, lambda data: data.max_total_instances > 0),
    (GetFlavorsBody(action="GetFlavors"), GetFlavorsAnswer, lambda data: data.flavors[0].vcpus > 0),
    (GetUrlListBody(action="GetUrlList"), GetUrlListAnswer, lambda data: data[0].url),
    (
        GetDomainDetailBody(action="GetDomainDetail", domain_id="206814"),
        GetDomainDetailAnswer,
        lambda data: data.domain_id == "206814" and data.cache_behaviors and data.origin_config.origin_ips,
    ),
    (GetNewsBody(action="GetNews"), GetNewsAnswer, lambda data: data[0].title),
    (
        GetConsumptionsEstimatedBody(action="GetConsumptionsEstimated"),
        GetConsumptionsEstimatedAnswer,
        lambda data: "instance" in {item.res_type for item in data},
    ),
]


def main(base: str) -> None:
    with Client(base_url=base) as client:
        welcome = open_.sync(client=client)
        check(isinstance(welcome, WelcomeAnswer), "GET /api/", welcome)
        token = client.get_httpx_client().cookies["csrftoken"]
        rejected = log_in.sync(client=client, body=login_form(welcome.data.regions[0], "wrong", token))
        check(isinstance(rejected, Refusal) and rejected.error == "invalid_credentials", "wrong password", rejected)
        accepted = log_in.sync_detailed(client=client, body=login_form(welcome.data.regions[0], "console-demo", token))
        check(accepted.status_code == 200, "login", accepted)
        client.get_httpx_client().headers["X-CSRFToken"] = token
        for body, response_type, holds in ACTIONS:
            response = call.sync(client=client, body=body)
            check(isinstance(response, response_type) and holds(response.data), body.action, response)
        unknown = call.sync(client=client, body=GetDomainDetailBody(action="GetDomainDetail", domain_id="0"))
        check(isinstance(unknown, Refusal) and unknown.field == "domainId", "unknown domain", unknown)
        check(log_out.sync_detailed(client=client).status_code == 200, "logout", None)
        after = call.sync(client=client, body=ACTIONS[0][0])
        check(isinstance(after, Refusal) and after.error == "login_required", "call after logout", after)
    print(f"generated Python client: logged in and called {len(ACTIONS)} actions")


def login_form(region: str, password: str, token: str) -> LoginForm:
    return LoginForm(username="demo", password=password, region=region, csrfmiddlewaretoken=token)


def check(holds: object, step: str, response: object) -> None:
    if not holds:
        sys.exit(f"generated Python client: {step}: {response}")


main(sys.argv[1])
