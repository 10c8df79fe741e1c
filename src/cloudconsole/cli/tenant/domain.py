"""`cloudconsole domain`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli import texts
from cloudconsole.cli.flags import add_call_flags
from cloudconsole.cli.showing import Field, Sheet, View, show
from cloudconsole.cli.speaking import say

if TYPE_CHECKING:
    from cloudconsole.client import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help=say(texts.DOMAIN_ID_ARGUMENT))
    add_call_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    wanted: str = arguments.id
    return show(
        arguments,
        View(lambda console: console.call("GetDomainDetail", domainId=wanted), lambda console: _sheet(console, wanted)),
    )


def _sheet(console: "Console", wanted: str) -> Sheet:
    fields = [
        Field("domainId", say(texts.ID), attrgetter("id")),
        Field("domainName", say(texts.DOMAIN_NAME), attrgetter("name")),
        Field("comment", say(texts.COMMENT), attrgetter("comment")),
        Field("serviceAreas", say(texts.SERVICE_AREAS), lambda domain: ";".join(domain.service_areas)),
        Field("serviceType", say(texts.SERVICE_TYPE), attrgetter("service_type")),
        Field("enabled", None, attrgetter("enabled")),
        Field(None, say(texts.ENABLED), lambda domain: say(texts.YES if domain.enabled else texts.NO)),
        Field("cname", "CNAME", attrgetter("cname")),
        Field("status", say(texts.STATUS), attrgetter("status")),
        Field("originIps", say(texts.ORIGIN_IPS), lambda domain: ";".join(domain.origin.ips)),
        Field("originDomainName", say(texts.ORIGIN_NAME), attrgetter("origin.domain_name")),
        Field("advOriginConfigs", say(texts.ADVANCED_ORIGIN), attrgetter("origin.advanced")),
        Field("cacheBehaviors", say(texts.CACHE_BEHAVIORS), attrgetter("cache_behaviors")),
        Field("visitControlRules", say(texts.VISIT_RULES), attrgetter("visit_control_rules")),
        Field("queryStringSettings", say(texts.QUERY_STRING), attrgetter("query_string_settings")),
    ]
    return Sheet(fields, [console.domain(wanted)], is_record=True)
