"""`cloudconsole domains`."""

import argparse
from operator import attrgetter
from typing import TYPE_CHECKING

from cloudconsole.cli.flags import add_connection_flags
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages

if TYPE_CHECKING:
    from cloudconsole.client import Console

add_arguments = add_connection_flags


def run(arguments: argparse.Namespace) -> int:
    return run_and_print(arguments, OutputView(lambda console: [domain.raw for domain in console.domains()], _table))


def _table(console: "Console") -> Table:
    return Table(
        [
            Field("domainId", translate(messages.DOMAIN_ID), attrgetter("id")),
            Field("domainName", translate(messages.DOMAIN_NAME), attrgetter("name")),
            Field("enabled", None, attrgetter("enabled")),
            Field(
                None,
                translate(messages.ACCELERATION),
                lambda domain: translate(messages.ENABLED if domain.enabled else messages.DISABLED),
            ),
            Field("status", translate(messages.STATUS), attrgetter("status")),
            Field("serviceType", translate(messages.SERVICE_TYPE), attrgetter("service_type")),
        ],
        console.domains(),
    )
