"""Log in and call all six actions with the client that openapi-python-client generated from the OpenAPI document.

Runs in the environment of the generator, which has the generated package's dependencies: usage: BASE_URL.
"""

import sys
from typing import Any

from cloud_console_client import Client, models
from cloud_console_client.api.actions import call_action
from cloud_console_client.api.session import log_in, log_out, open_session

ACTIONS = {
    "GetUsageLimits": lambda data: data.max_total_instances > 0,
    "GetFlavors": lambda data: data.flavors[0].vcpus > 0,
    "GetUrlList": lambda data: data[0].url,
    "GetDomainDetail": lambda data: (
        data.domain_id == "206814" and data.cache_behaviors and data.origin_config.origin_ips
    ),
    "GetNews": lambda data: data[0].title,
    "GetConsumptionsEstimated": lambda data: "instance" in {item.res_type for item in data},
}


def main(base: str) -> None:
    with Client(base_url=base) as client:
        welcome = open_session.sync(client=client)
        check(isinstance(welcome, models.WelcomeAnswer), "GET /api/", welcome)
        token = client.get_httpx_client().cookies["csrftoken"]
        rejected = log_in.sync(client=client, body=login_form(welcome.data.regions[0], "wrong", token))
        is_rejection = isinstance(rejected, models.Refusal) and rejected.error == "invalid_credentials"
        check(is_rejection, "wrong password", rejected)
        accepted = log_in.sync_detailed(client=client, body=login_form(welcome.data.regions[0], "console-demo", token))
        check(accepted.status_code == 200, "login", accepted)
        client.get_httpx_client().headers["X-CSRFToken"] = token
        for action, holds in ACTIONS.items():
            response = call_action.sync(client=client, body=action_body(action))
            check(isinstance(response, getattr(models, f"{action}Answer")) and holds(response.data), action, response)
        unknown = call_action.sync(client=client, body=action_body("GetDomainDetail", domain_id="0"))
        check(isinstance(unknown, models.Refusal) and unknown.field == "domainId", "unknown domain", unknown)
        check(log_out.sync_detailed(client=client).status_code == 200, "logout", None)
        after = call_action.sync(client=client, body=action_body("GetNews"))
        check(isinstance(after, models.Refusal) and after.error == "login_required", "call after logout", after)
    print(f"generated Python client: logged in and called {len(ACTIONS)} actions")


def action_body(action: str, domain_id: str = "206814") -> Any:
    fields = {"domain_id": domain_id} if action == "GetDomainDetail" else {}
    return getattr(models, f"{action}Body")(action=action, **fields)


def login_form(region: str, password: str, token: str) -> models.LoginForm:
    return models.LoginForm(username="demo", password=password, region=region, csrfmiddlewaretoken=token)


def check(holds: object, step: str, response: object) -> None:
    if not holds:
        sys.exit(f"generated Python client: {step}: {response}")


main(sys.argv[1])
