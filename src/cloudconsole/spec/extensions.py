"""The built-in extensions: actions beside the six, which a console may have or not."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from cloudconsole.spec.actions import Action
from cloudconsole.spec.extension_records import DomainItem, PriceItem
from cloudconsole.spec.i18n import Text

MAX_PAGE: Final = 1000


class DomainsParameters(Struct, frozen=True):
    limit: Annotated[
        int, Meta(ge=1, le=MAX_PAGE, description=f"Maximum number of items, 1 to {MAX_PAGE}; 100 unless given.")
    ] = 100
    marker: Annotated[
        str,
        Meta(
            max_length=64,
            pattern=r"^[^\u0000-\u001f\u007f-\u009f]*$",
            description="The last `domainId` of the previous page; absent for the first page.",
        ),
    ] = ""


GET_DOMAINS = Action(
    name="GetDomains",
    purpose=Text("The tenant's accelerated domains, in pages.", "租户的加速域名，分页返回。"),
    record=list[DomainItem],
    success=Text("Domains.", "获取域名列表成功"),
    parameters=DomainsParameters,
    notes=("Ordered by `domainId`. A page with fewer items than `limit` is the last.",),
)
GET_PRICES = Action(
    name="GetPrices",
    purpose=Text(
        "The prices that apply to the tenant's resources, now and later.", "适用于租户资源的现行价格与将生效的价格。"
    ),
    record=list[PriceItem],
    success=Text("Prices.", "获取价格成功"),
    notes=(
        "A resource costs, per hour, the price of its type times its units, or, without one, the sum of its kind's "
        "prices, each times its units. A node's own price replaces the one for all nodes from its start on.",
        "Ordered by kind, unit, node, type and start. Prices that have been replaced are not listed.",
    ),
)

EXTENSIONS: Final = (GET_DOMAINS, GET_PRICES)
