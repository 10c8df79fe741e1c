"""Handlers of the built-in extensions, and the table of all actions that a console has."""

from functools import lru_cache
from typing import Final

from cloudconsole.core.estimates import Estimator
from cloudconsole.core.ports import CacheableResult, Ports, Tenant
from cloudconsole.extensions import Extension
from cloudconsole.server.actions import HANDLERS, Handler, of_cloud_user, of_everyone, of_tenant
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.plugins import PluginError, load_extension, plugin_handler
from cloudconsole.spec import extensions as spec
from cloudconsole.spec.extension_records import Estimate
from cloudconsole.spec.installed_extensions import installed_extensions


def _by_types(tenant: Tenant) -> str | None:
    """Only resources of an upstream cloud have prices by type."""
    return None if tenant.credentials is None else "types"


async def _get_estimate(ports: Ports, tenant: Tenant, parameters: spec.EstimateParameters) -> CacheableResult[Estimate]:
    now = ports.clock.now()
    flavors = await ports.cloud.flavors(tenant)
    usage = await ports.cloud.usage_limits(tenant)
    book, nodes = await ports.prices.price_list(tenant)
    regions = tenant.credentials.services if tenant.credentials else ()
    estimator = Estimator(flavors.record.flavors, book, nodes, regions, now)
    record = estimator.estimate(parameters.items, parameters.hours, usage.record)
    until = min(flavors.expires_at, usage.expires_at, book.next_change(now))
    ages = [result.read_at for result in (flavors, usage) if result.read_at is not None]
    return CacheableResult(record, until, min(ages, default=None))


EXTENSION_HANDLERS: Final[dict[str, Handler]] = {
    handler.action.name: handler
    for handler in (
        Handler(
            spec.GET_DOMAINS,
            lambda ports, tenant, parameters: ports.content.domains(tenant, parameters.limit, parameters.marker),
            of_tenant,
        ),
        Handler(spec.GET_PRICES, lambda ports, tenant, _: ports.prices.prices(tenant), _by_types),
        Handler(spec.GET_ESTIMATE, _get_estimate, of_cloud_user),
        Handler(
            spec.GET_CONSUMPTIONS_SUMMARY,
            lambda ports, tenant, parameters: ports.costs.summary(tenant, parameters.region),
            of_cloud_user,
        ),
        Handler(
            spec.GET_CONSUMPTIONS,
            lambda ports, tenant, parameters: ports.costs.consumptions(tenant, parameters),
            of_cloud_user,
        ),
        Handler(spec.GET_BILLING_REPORT, lambda ports, tenant, _: ports.costs.report(tenant), of_cloud_user),
        Handler(spec.GET_FORECAST, lambda ports, tenant, _: ports.costs.forecast(tenant), of_cloud_user),
        Handler(
            spec.GET_COST_EXPORT,
            lambda ports, tenant, parameters: ports.costs.export(tenant, parameters),
            of_cloud_user,
        ),
        Handler(spec.GET_ANNOUNCEMENTS, lambda ports, _tenant, _: ports.content.announcements(), of_everyone),
    )
}


def enabled_handlers(settings: Settings) -> dict[str, Handler]:
    """Return the handlers of the six actions and of the extensions that are on, by name."""
    plugins = {
        extension.name: plugin_handler(extension, settings.cloud_timeout) for extension in load_plugins(settings)
    }
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
