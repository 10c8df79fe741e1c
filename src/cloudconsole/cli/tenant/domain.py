"""`cloudconsole domain`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli import messages
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.i18n import say
from cloudconsole.cli.output import Field, Sheet, View, show

if TYPE_CHECKING:
    from cloudconsole.client import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help=say(messages.DOMAIN_ID_ARGUMENT))
    add_call_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    wanted: str = arguments.id
    return show(
        arguments,
        View(lambda console: console.call("GetDomainDetail", domainId=wanted), lambda console: _sheet(console, wanted)),
    )


def _sheet(console: "Console", wanted: str) -> Sheet:
    fields = [
        Field("domainId", say(messages.ID), attrgetter("id")),
        Field("domainName", say(messages.DOMAIN_NAME), attrgetter("name")),
        Field("comment", say(messages.COMMENT), attrgetter("comment")),
        Field("serviceAreas", say(messages.SERVICE_AREAS), lambda domain: ";".join(domain.service_areas)),
        Field("serviceType", say(messages.SERVICE_TYPE), attrgetter("service_type")),
        Field("enabled", None, attrgetter("enabled")),
        Field(None, say(messages.ENABLED), lambda domain: say(messages.YES if domain.enabled else messages.NO)),
        Field("cname", "CNAME", attrgetter("cname")),
        Field("status", say(messages.STATUS), attrgetter("status")),
        Field("originIps", say(messages.ORIGIN_IPS), lambda domain: ";".join(domain.origin.ips)),
        Field("originDomainName", say(messages.ORIGIN_NAME), attrgetter("origin.domain_name")),
        Field("advOriginConfigs", say(messages.ADVANCED_ORIGIN), attrgetter("origin.advanced")),
        Field("cacheBehaviors", say(messages.CACHE_BEHAVIORS), attrgetter("cache_behaviors")),
        Field("visitControlRules", say(messages.VISIT_RULES), attrgetter("visit_control_rules")),
        Field("queryStringSettings", say(messages.QUERY_STRING), attrgetter("query_string_settings")),
    ]
    return Sheet(fields, [console.domain(wanted)], is_record=True)
