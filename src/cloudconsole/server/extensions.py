"""Handlers of the built-in extensions, and the table of all actions that a console has."""

from functools import lru_cache
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Tenant
from cloudconsole.extensions import Extension
from cloudconsole.server.actions import HANDLERS, Handler, of_tenant
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.plugins import PluginError, load_extension, plugin_handler
from cloudconsole.spec import extensions as spec
from cloudconsole.spec.installed_extensions import installed_extensions


def _by_types(tenant: Tenant) -> str | None:
    """Only resources of an upstream cloud have prices by type."""
    return None if tenant.credentials is None else "types"


EXTENSION_HANDLERS: Final[dict[str, Handler]] = {
    handler.action.name: handler
    for handler in (
        Handler(
            spec.GET_DOMAINS,
            lambda ports, tenant, parameters: ports.content.domains(tenant, parameters.limit, parameters.marker),
            of_tenant,
        ),
        Handler(spec.GET_PRICES, lambda ports, tenant, _: ports.prices.prices(tenant), _by_types),
    )
}


def enabled_handlers(settings: Settings, clock: Clock) -> dict[str, Handler]:
    """Return the handlers of the six actions and of the extensions that are on, by name."""
    plugins = {extension.name: plugin_handler(extension, clock) for extension in load_plugins(settings)}
    handlers = EXTENSION_HANDLERS | plugins
    return HANDLERS | {name: handlers[name] for name in settings.extension_names}


def load_plugins(settings: Settings) -> tuple[Extension, ...]:
    """Import the extensions of packages that are on; raise `SettingError` if one cannot be used."""
    try:
        return _load(settings.plugin_names)
    except PluginError as problem:
        text = f"extensions: {problem}; ask its author, or remove it from the setting"
        raise SettingError(text, ("extensions",)) from problem


# Cached, so that a worker that is started later does not depend on the packages that are installed by then.
@lru_cache(maxsize=4)
def _load(names: tuple[str, ...]) -> tuple[Extension, ...]:
    installed = {extension.name: extension for extension in installed_extensions()} if names else {}
    return tuple(load_extension(installed[name]) for name in names)
