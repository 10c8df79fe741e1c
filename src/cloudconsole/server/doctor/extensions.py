"""Check of the extensions: those that are on can be loaded, and installed ones that are off are named."""

from collections.abc import Iterator

from cloudconsole.server.config.settings import SettingError
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.extensions import load_plugins
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.installed_extensions import installed_extensions


def check_extensions(case: DoctorContext) -> Iterator[Finding]:
    names = case.settings.extension_names
    try:
        load_plugins(case.settings)
    except SettingError as error:
        yield problem(str(error), "cloudconsole serve does not start with it")
        return
    built_in = {action.name for action in EXTENSIONS}
    yield ok(f"{len(built_in & set(names))} of {len(built_in)} built-in extensions are on")
    own_names = built_in | {action.name for action in ACTIONS}
    for extension in installed_extensions():
        if extension.name in own_names:
            yield warning(
                f"{extension} is never used: the console has an action of this name itself",
                "uninstall the package, or ask its author to rename the action",
            )
        else:
            yield ok(f"{extension} is {'on' if extension.name in names else 'installed, but not on'}")
