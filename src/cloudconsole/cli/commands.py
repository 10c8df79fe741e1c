"""Table of commands; a command's module is loaded only when the command is called.

Each module has `add_arguments(parser)` and `run(arguments)`, which returns the exit code.
"""

import argparse
from importlib import import_module
from typing import Any, Final, NamedTuple

from cloudconsole._version import __version__
from cloudconsole.cli import messages, stdout
from cloudconsole.cli.argument_parser import Parser
from cloudconsole.cli.i18n import FLAG, LANGUAGES, sentence, set_language, translate
from cloudconsole.spec.i18n import Text


class Command(NamedTuple):
    name: str
    module: str
    purpose: Text
    needs_server: bool = False
    """Whether the extra `server` must be installed."""
    in_english: bool = False
    """Whether it has no Chinese messages."""
    has_raw_arguments: bool = False
    """Whether arguments may be other than UTF-8, as names of files may."""


class NeedsServer(Exception):
    """The command needs the extra `server`, which is not installed."""


COMMANDS: Final = (
    Command(
        "login",
        "cloudconsole.cli.tenant.login",
        Text("log in to a console and save the session for later commands", "登录控制台，并为以下命令保留会话"),
    ),
    Command(
        "logout", "cloudconsole.cli.tenant.logout", Text("log out and delete the saved session", "结束会话并将其删除")
    ),
    Command(
        "whoami",
        "cloudconsole.cli.tenant.whoami",
        Text("show the selected console and account, and the session's state", "显示当前控制台、账户与登录状态"),
    ),
    Command("usage", "cloudconsole.cli.tenant.usage", Text("show quotas and usage", "显示配额与用量")),
    Command(
        "flavors",
        "cloudconsole.cli.tenant.flavors",
        Text("show the available flavors", "显示可选的云主机配置"),
    ),
    Command("urls", "cloudconsole.cli.tenant.urls", Text("show commonly used URLs", "显示常用 URL")),
    Command("domain", "cloudconsole.cli.tenant.domain", Text("show one accelerated domain", "显示一个加速域名")),
    Command("domains", "cloudconsole.cli.tenant.domains", Text("list all accelerated domains", "列出全部加速域名")),
    Command("news", "cloudconsole.cli.tenant.news", Text("show the provider's announcements", "显示服务商公告")),
    Command("costs", "cloudconsole.cli.tenant.costs", Text("show the estimated cost of resources", "显示资源费用预估")),
    Command(
        "prices",
        "cloudconsole.cli.tenant.prices",
        Text("show the prices in force and to come", "显示现行价格与将生效的价格"),
    ),
    Command(
        "estimate",
        "cloudconsole.cli.tenant.estimate",
        Text("show what resources would cost and whether they fit", "显示拟创建资源的费用及配额是否足够"),
    ),
    Command(
        "actions",
        "cloudconsole.cli.tenant.actions",
        Text("list the console's actions, without logging in", "列出控制台的操作，无需登录"),
    ),
    Command(
        "call",
        "cloudconsole.cli.tenant.call",
        Text("call any action and print its data as JSON", "调用任意操作，以 JSON 输出其数据"),
    ),
    Command(
        "profile",
        "cloudconsole.cli.profile",
        Text("list, show, select, add or remove profiles", "列出、显示、选用、添加或删除配置"),
    ),
    Command(
        "completion",
        "cloudconsole.cli.completion",
        Text("print a shell completion script", "输出 shell 命令补全脚本"),
    ),
    Command(
        "conformance",
        "cloudconsole.cli.conformance",
        Text("check a console's conformance to the interface", "从外部检查任意控制台是否符合接口约定"),
        has_raw_arguments=True,
    ),
    Command(
        "serve",
        "cloudconsole.server.commands.serve",
        Text("run a console server", "运行控制台服务"),
        needs_server=True,
        in_english=True,
        has_raw_arguments=True,
    ),
    Command(
        "init",
        "cloudconsole.server.commands.init",
        Text("create a store and its first operator", "创建数据存储及首个管理员"),
        needs_server=True,
        in_english=True,
        has_raw_arguments=True,
    ),
    Command(
        "admin",
        "cloudconsole.server.commands.admin",
        Text("manage a console's data", "管理控制台的数据"),
        needs_server=True,
        has_raw_arguments=True,
    ),
    Command(
        "doctor",
        "cloudconsole.server.commands.doctor",
        Text("diagnose problems and suggest fixes", "诊断控制台的问题并给出解决办法"),
        needs_server=True,
        in_english=True,
        has_raw_arguments=True,
    ),
)


HELP: Final = "help"
"""`help COMMAND` is `COMMAND --help`."""


class _ShowVersions(argparse.Action):
    """Print the version, and those of packages with extensions."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from cloudconsole.spec.installed_extensions import installed_extensions

        lines = [f"cloudconsole {__version__}", *map(str, installed_extensions())]
        stdout.write("".join(f"{line}\n" for line in lines))
        parser.exit()


def top_parser() -> Parser:
    parser = Parser(
        prog="cloudconsole", description=translate(messages.DESCRIPTION), epilog=translate(messages.GENERAL_EPILOG)
    )
    parser.add_argument("--version", action=_ShowVersions, nargs=0, help=translate(messages.VERSION_FLAG))
    parser.add_argument(FLAG, choices=LANGUAGES, help=translate(messages.LANG_FLAG))
    commands = parser.add_subparsers(title=translate(messages.COMMANDS), metavar=translate(messages.COMMAND))
    for command in COMMANDS:
        commands.add_parser(command.name, help=translate(command.purpose), add_help=False)
    commands.add_parser(HELP, help=translate(messages.HELP_COMMAND), add_help=False)
    return parser


def command_named(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)


def loaded(command: Command) -> tuple[Any, Parser]:
    """Import a command's module and build its parser."""
    if command.in_english:
        set_language("en")
    try:
        module = import_module(command.module)
    except ModuleNotFoundError as missing:
        if not command.needs_server or (missing.name or "").startswith("cloudconsole"):
            raise
        raise NeedsServer from missing
    parser = Parser(prog=f"cloudconsole {command.name}", description=sentence(translate(command.purpose)))
    module.add_arguments(parser)
    return module, parser
