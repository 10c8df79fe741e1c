"""Payload types of the built-in extensions, with field docs."""

from typing import Annotated, Literal

from msgspec import Struct, field

from cloudconsole.spec.records import DECIMAL, TIMESTAMP, BillableType, field_doc

PricedUnit = Literal["each", "vcpu", "ram_gb", "gb"]


class DomainItem(Struct, frozen=True):
    """One of the tenant's domains; GetDomainDetail returns all of its fields."""

    domain_id: Annotated[str, field_doc("Its ID; the list is ordered by it.")] = field(name="domainId")
    domain_name: Annotated[str, field_doc("The accelerated domain.")] = field(name="domainName")
    enabled: Annotated[Literal["true", "false"], field_doc('The text `"true"` or `"false"`, as in GetDomainDetail.')]
    status: Annotated[str, field_doc("As the operator recorded it; accept any value.")]
    service_type: Annotated[str, field_doc("As the operator recorded it; accept any value.")] = field(
        name="serviceType"
    )


class PriceItem(Struct, frozen=True):
    """One price, in force or to come."""

    res_type: Annotated[BillableType, field_doc("The kind of resource.")]
    unit: Annotated[
        PricedUnit,
        field_doc(
            "What the price is for: one resource (`each`), one core (`vcpu`), or one GB of RAM (`ram_gb`) or of size "
            "(`gb`)."
        ),
    ]
    region: Annotated[str | None, field_doc("The node; null for all nodes without a price of their own.")]
    type: Annotated[
        str | None,
        field_doc("The flavor or volume type whose whole price this is, in a cloud that has types; null for all."),
    ]
    price: Annotated[str, field_doc("Per hour and unit, as decimal text.", unit="currency", pattern=DECIMAL)]
    start_at: Annotated[
        str, field_doc("From when it applies: `YYYY-MM-DD HH:MM:SS` in the operator's time zone.", pattern=TIMESTAMP)
    ]
    end_at: Annotated[
        Annotated[str, field_doc("A time.", pattern=TIMESTAMP)] | None,
        field_doc("When the next price replaces it; null if none does."),
    ]
    in_force: Annotated[bool, field_doc("Whether it applies now; false if it is still to come.")]
