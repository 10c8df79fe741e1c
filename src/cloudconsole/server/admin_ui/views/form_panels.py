"""What helps to decide, beside a form: prices of the kind, or how much of its quotas the tenant uses."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import PRICES, QUOTAS, RESOURCES, EntityType
from cloudconsole.operator.entities.references import find_tenant
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.quota_check import quota_usage_of
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.columns_states_links import price_states
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.labels import priced_name
from cloudconsole.server.admin_ui.quota_usage import QuotaUsage, quota_usages

MAX_PRICES: Final = 40


class PanelPrice(NamedTuple):
    key: str
    name: Label
    record: Record
    state: str


class FormPanel(NamedTuple):
    prices: list[PanelPrice]
    quotas: list[QuotaUsage]
    tenant: str = ""


def form_panel(tx: OperatorTransaction, entity: EntityType, values: Mapping[str, str]) -> FormPanel | None:
    """Return what to show beside the form with these values, if anything."""
    if entity is PRICES:
        return FormPanel(_prices(tx, values.get("kind", "")), [])
    if entity is RESOURCES and values.get("tenant"):
        try:
            return FormPanel([], _quotas(tx, values["tenant"]), values["tenant"])
        except OperatorError:
            return None
    return None


def _prices(tx: OperatorTransaction, kind: str) -> list[PanelPrice]:
    """Return the prices of a kind, or of all, that are in force or to come."""
    records = [each for each in PRICES.list(tx, limit=None) if kind in ("", each["kind"])]
    states = price_states(records, format_utc(tx.now))
    return [
        PanelPrice(key, priced_name(key) or key, record, state)
        for record, state in zip(records, states, strict=True)
        if state is not None and (key := PRICES.key_of(record))
    ][:MAX_PRICES]


def _quotas(tx: OperatorTransaction, tenant: str) -> list[QuotaUsage]:
    used = quota_usage_of(tx, find_tenant(tx, tenant)["id"])
    return [*quota_usages(QUOTAS.show(tx, tenant), used).values()]
