"""The action GetQuotaAlerts: the quotas of which at least a given share is used."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from cloudconsole.extensions import ApiError, Call, Extension, Text, field_doc

QUOTAS: Final = {
    "instances": ("total_instances_used", "max_total_instances"),
    "cores": ("total_cores_used", "max_total_cores"),
    "ram": ("total_ram_used", "max_total_ram_size"),
    "volumes": ("total_volumes_used", "max_total_volumes"),
    "gigabytes": ("total_gigabytes_used", "max_total_volume_gigabytes"),
}
"""Usage and limit of each quota, as fields of the record of GetUsageLimits."""


class AlertParameters(Struct, frozen=True):
    percent: Annotated[int, Meta(ge=1, le=100, description="The share of a quota, 1 to 100; 80 unless given.")] = 80


class QuotaAlert(Struct, frozen=True):
    """One quota that is nearly used up."""

    quota: Annotated[str, field_doc("Its name.")]
    used: Annotated[int, field_doc("Its usage.")]
    limit: Annotated[int, field_doc("Its limit.")]


class NothingLimited(ApiError):
    error, code = "nothing_limited", 404
    text = Text("None of the account's quotas is limited.", "该账户的配额均不限。")
    when = "all quotas are unlimited"
    remedy = "Nothing: such an account cannot run out of quota."


async def get_quota_alerts(call: Call[AlertParameters]) -> list[QuotaAlert]:
    usage = await call.usage_limits()
    quotas = [QuotaAlert(quota, getattr(usage, used), getattr(usage, limit)) for quota, (used, limit) in QUOTAS.items()]
    limited = [quota for quota in quotas if quota.limit >= 0]
    if not limited:
        raise NothingLimited
    return [quota for quota in limited if quota.used * 100 >= quota.limit * call.parameters.percent]


GET_QUOTA_ALERTS: Final = Extension(
    name="GetQuotaAlerts",
    purpose=Text("The quotas that are nearly used up.", "即将用尽的配额。"),
    success=Text("Quota alerts.", "获取配额提醒成功"),
    parameters=AlertParameters,
    record=list[QuotaAlert],
    errors=(NothingLimited,),
    notes=("In the order instances, cores, RAM, volumes, gigabytes; unlimited quotas are omitted.",),
    handle=get_quota_alerts,
    is_cacheable=True,
)
