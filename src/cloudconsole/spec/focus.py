"""Columns of FOCUS, the FinOps Open Cost and Usage Specification, by version: the dataset CostAndUsage."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from cloudconsole.spec.records import BillableType


class Issuer(NamedTuple):
    """Who bills, and in which currency."""

    provider: str
    currency: str


class Charge(NamedTuple):
    """The cost of some hours of a resource, or a correction; times are seconds since the epoch."""

    account: str
    issuer: Issuer
    invoice_id: str
    month_start: int
    month_end: int
    start: int
    end: int
    kind: BillableType
    size: str
    """Such as `2 vCPUs, 4 GB`; empty for a correction."""
    resource_id: str
    name: str
    region: str
    hours: int
    unit_price: str
    """Of the resource, per hour."""
    amount: str
    correction: str
    """What was changed later; empty for the cost of hours."""


class _Service(NamedTuple):
    category: str
    subcategory: str
    name: str
    resource_type: str


_SERVICES: Final[dict[BillableType, _Service]] = {
    "instance": _Service("Compute", "Virtual Machines", "Instances", "Instance"),
    "image": _Service("Storage", "Other (Storage)", "Images", "Image"),
    "loadbalance": _Service("Networking", "Application Networking", "Load balancers", "Load balancer"),
    "volume": _Service("Storage", "Block Storage", "Volumes", "Volume"),
}

Column = Callable[[Charge], str]
"""The value of a column; empty for null."""


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _of_hours(value: Column) -> Column:
    """Return a column that is null for corrections."""
    return lambda charge: "" if charge.correction else value(charge)


def _description(charge: Charge) -> str:
    service = _SERVICES[charge.kind].resource_type
    if charge.correction:
        return f"{service}, correction of closed months: {charge.correction}"
    return f"{service} {charge.size}".rstrip() + ", per hour"


def _quantity(charge: Charge) -> str:
    # With decimals: readers that guess types would take a whole number for an integer.
    return f"{charge.hours}.0"


def _sku(charge: Charge) -> str:
    return f"{charge.kind}/{charge.size}"


_COLUMNS_1_2: Final[dict[str, Column]] = {
    "BilledCost": lambda charge: charge.amount,
    "BillingAccountId": lambda charge: charge.account,
    "BillingAccountName": lambda charge: charge.account,
    "BillingCurrency": lambda charge: charge.issuer.currency,
    "BillingPeriodEnd": lambda charge: _time(charge.month_end),
    "BillingPeriodStart": lambda charge: _time(charge.month_start),
    "ChargeCategory": lambda _: "Usage",
    "ChargeClass": lambda charge: "Correction" if charge.correction else "",
    "ChargeDescription": _description,
    "ChargeFrequency": lambda _: "Usage-Based",
    "ChargePeriodEnd": lambda charge: _time(charge.end),
    "ChargePeriodStart": lambda charge: _time(charge.start),
    "CommitmentDiscountStatus": lambda _: "",
    "ConsumedQuantity": _of_hours(_quantity),
    "ConsumedUnit": _of_hours(lambda _: "Hours"),
    "ContractedCost": lambda charge: charge.amount,
    "ContractedUnitPrice": _of_hours(lambda charge: charge.unit_price),
    "EffectiveCost": lambda charge: charge.amount,
    "InvoiceId": lambda charge: charge.invoice_id,
    "InvoiceIssuerName": lambda charge: charge.issuer.provider,
    "ListCost": lambda charge: charge.amount,
    "ListUnitPrice": _of_hours(lambda charge: charge.unit_price),
    "PricingCategory": _of_hours(lambda _: "Standard"),
    "PricingCurrency": lambda charge: charge.issuer.currency,
    "PricingCurrencyContractedUnitPrice": _of_hours(lambda charge: charge.unit_price),
    "PricingCurrencyEffectiveCost": lambda charge: charge.amount,
    "PricingCurrencyListUnitPrice": _of_hours(lambda charge: charge.unit_price),
    "PricingQuantity": _of_hours(_quantity),
    "PricingUnit": _of_hours(lambda _: "Hours"),
    "ProviderName": lambda charge: charge.issuer.provider,
    "PublisherName": lambda charge: charge.issuer.provider,
    "RegionId": lambda charge: charge.region,
    "RegionName": lambda charge: charge.region,
    "ResourceId": lambda charge: charge.resource_id,
    "ResourceName": lambda charge: charge.name,
    "ResourceType": lambda charge: _SERVICES[charge.kind].resource_type if charge.resource_id else "",
    "ServiceCategory": lambda charge: _SERVICES[charge.kind].category,
    "ServiceName": lambda charge: _SERVICES[charge.kind].name,
    "ServiceSubcategory": lambda charge: _SERVICES[charge.kind].subcategory,
    "SkuId": _of_hours(_sku),
    "SkuMeter": _of_hours(lambda charge: f"{_SERVICES[charge.kind].resource_type} hours"),
    "SkuPriceDetails": lambda _: "",
    "SkuPriceId": _of_hours(lambda charge: f"{_sku(charge)}/{charge.region}/{charge.unit_price}"),
}

VERSIONS: Final[dict[str, dict[str, Column]]] = {"1.2": _COLUMNS_1_2}
"""The columns of each version, in their order."""
