"""`cloudconsole flavors`: all flavors, or those with given cores and RAM."""

import argparse
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cloudconsole.cli.errors import CommandError
from cloudconsole.cli.flags import add_connection_flags, whole_number
from cloudconsole.cli.i18n import translate
from cloudconsole.cli.output import Field, OutputView, Table, run_and_print
from cloudconsole.cli.tenant import messages
from cloudconsole.spec.i18n import Text
from cloudconsole.spec.text_escaping import escape_and_truncate

if TYPE_CHECKING:
    from cloudconsole.client import Console, Flavors


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vcpus", metavar="N", type=whole_number, help=translate(messages.VCPUS_FLAG))
    parser.add_argument("--ram", metavar="N", type=whole_number, help=translate(messages.RAM_FLAG))
    add_connection_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    vcpus, ram = arguments.vcpus, arguments.ram
    return run_and_print(
        arguments, OutputView(lambda console: _data(console, vcpus, ram), lambda console: _table(console, vcpus, ram))
    )


def _table(console: "Console", vcpus: int | None, ram: int | None) -> Table:
    units, flavors = console.about().units, console.flavors()
    ram_unit, disk_unit = (units.ram, units.disk) if units else ("", "")
    _check_offered(flavors, vcpus, ram)
    fields = [
        Field("id", translate(messages.ID), attrgetter("id")),
        Field("name", translate(messages.NAME), attrgetter("name")),
        Field("vcpus", translate(messages.CORES), attrgetter("vcpus"), "number"),
        Field("ram", with_unit(messages.RAM, ram_unit), attrgetter("ram"), "number"),
        Field("disk", with_unit(messages.SYSTEM_DISK, disk_unit), attrgetter("disk"), "number"),
    ]
    matching_flavors = flavors.flavors if vcpus is None and ram is None else flavors.matching(vcpus=vcpus, ram=ram)
    choices = {cores: sizes for cores, sizes in flavors.choices().items() if vcpus in (None, cores)}
    notes = [
        translate(
            messages.RAM_WITH_ONE_CORE if cores == 1 else messages.RAM_WITH_CORES,
            cores=cores,
            sizes=_join(sizes),
            unit=escape_and_truncate(ram_unit),
        ).rstrip()
        for cores, sizes in choices.items()
        if ram is None or ram in sizes
    ]
    return Table(fields, matching_flavors, notes=["", *notes])


def with_unit(text: Text, unit: str | None) -> str:
    return f"{translate(text)} ({escape_and_truncate(unit)})" if unit else translate(text)


def _check_offered(flavors: "Flavors", vcpus: int | None, ram: int | None) -> None:
    choices = flavors.choices()
    if vcpus is not None and vcpus not in choices:
        raise CommandError(translate(messages.CORES_NOT_OFFERED, vcpus=vcpus, offered=_join(choices)))
    if ram is None:
        return
    offered = choices[vcpus] if vcpus is not None else sorted({size for sizes in choices.values() for size in sizes})
    if ram not in offered:
        message = messages.RAM_NOT_OFFERED if vcpus is None else messages.RAM_NOT_WITH_CORES
        raise CommandError(translate(message, ram=ram, vcpus=vcpus, offered=_join(offered)))


def _join(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _data(console: "Console", vcpus: int | None, ram: int | None) -> Any:
    """Return the data as the console sent it, or filtered in the same shape."""
    if vcpus is None and ram is None:
        return console.call("GetFlavors")
    flavors = console.flavors()
    _check_offered(flavors, vcpus, ram)
    matching_flavors = flavors.matching(vcpus=vcpus, ram=ram)
    limits = {
        str(cores): [size for size in sizes if ram in (None, size)]
        for cores, sizes in flavors.choices().items()
        if vcpus in (None, cores) and (ram is None or ram in sizes)
    }
    sizes = sorted({size for allowed in limits.values() for size in allowed})
    configs = {"vcpus": [int(cores) for cores in limits], "ram": sizes}
    return {"flavors": [flavor.raw for flavor in matching_flavors], "configs": configs, "limits": limits}
