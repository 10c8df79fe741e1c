"""`cloudconsole domain`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages

if TYPE_CHECKING:
    from cloudconsole.client import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help=translate(messages.DOMAIN_ID_ARGUMENT))
    add_connection_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    domain_id: str = arguments.id
    return run_and_print(
        arguments,
        OutputView(
            lambda console: console.call("GetDomainDetail", domainId=domain_id),
            lambda console: _table(console, domain_id),
        ),
    )


def _table(console: "Console", domain_id: str) -> Table:
    fields = [
        Field("domainId", translate(messages.DOMAIN_ID), attrgetter("id")),
        Field("domainName", translate(messages.DOMAIN_NAME), attrgetter("name")),
        Field("comment", translate(messages.COMMENT), attrgetter("comment")),
        Field("serviceAreas", translate(messages.SERVICE_AREAS), lambda domain: ";".join(domain.service_areas)),
        Field("serviceType", translate(messages.SERVICE_TYPE), attrgetter("service_type")),
        Field("enabled", None, attrgetter("enabled")),
        Field(
            None,
            translate(messages.ACCELERATION),
            lambda domain: translate(messages.ENABLED if domain.enabled else messages.DISABLED),
        ),
        Field("cname", "CNAME", attrgetter("cname")),
        Field("status", translate(messages.STATUS), attrgetter("status")),
        Field("originIps", translate(messages.ORIGIN_IPS), lambda domain: ";".join(domain.origin.ips)),
        Field("originDomainName", translate(messages.ORIGIN_NAME), attrgetter("origin.domain_name")),
        Field("advOriginConfigs", translate(messages.ADVANCED_ORIGIN), attrgetter("origin.advanced")),
        Field("cacheBehaviors", translate(messages.CACHE_BEHAVIORS), attrgetter("cache_behaviors")),
        Field("visitControlRules", translate(messages.VISIT_RULES), attrgetter("visit_control_rules")),
        Field("queryStringSettings", translate(messages.QUERY_STRING), attrgetter("query_string_settings")),
    ]
    return Table(fields, [console.domain(domain_id)], is_record=True)
