"""Views: open a session, log in, GetUsageLimits."""

import json

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods, require_POST

from bench.django_console.models import Quotas, Usage

WELCOME = {
    "actions": [
        "GetUsageLimits",
        "GetFlavors",
        "GetUrlList",
        "GetDomainDetail",
        "GetNews",
        "GetConsumptionsEstimated",
    ],
    "currency": "CNY",
    "timeZone": "UTC",
    "monthDays": 30,
    "units": {"ram": "MB", "disk": "GB", "volume": "GB", "personality": "B"},
}


@require_http_methods(["GET", "POST"])
@ensure_csrf_cookie
def api(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        if not (request.session.session_key and request.session.exists(request.session.session_key)):
            request.session.create()
        return _success("Welcome to Cloud Console.", WELCOME | {"regions": [request.build_absolute_uri("/v3")]})
    if not request.user.is_authenticated:
        return _error(401, "login_required", "Log in first.")
    try:
        fields = json.loads(request.body)
        action = ACTIONS[fields["action"]]
    except (ValueError, KeyError, TypeError):
        return _error(404, "unknown_action", "There is no such action.")
    return action(request)


@require_POST
def login_view(request: HttpRequest) -> HttpResponse:
    account = authenticate(request, username=request.POST.get("username"), password=request.POST.get("password"))
    if account is None:
        return _error(401, "invalid_credentials", "User or password is wrong.")
    login(request, account)
    return HttpResponse(headers={"Content-Length": "0"})


def get_usage_limits(request: HttpRequest) -> HttpResponse:
    tenant_id = request.user.tenant_id
    if settings.USAGE_CACHE_SECONDS:
        data = cache.get_or_set(f"usage-{tenant_id}", lambda: _usage(tenant_id), settings.USAGE_CACHE_SECONDS)
    else:
        data = _usage(tenant_id)
    return _success("Usage and limits.", data)


def _usage(tenant_id: int) -> dict[str, int]:
    quotas = Quotas.objects.get(tenant_id=tenant_id)
    usage = Usage.objects.get(tenant_id=tenant_id)
    return {
        "maxTotalInstances": quotas.instances,
        "totalInstancesUsed": usage.instances,
        "maxTotalCores": quotas.cores,
        "totalCoresUsed": usage.cores,
        "maxTotalRAMSize": quotas.ram,
        "totalRAMUsed": usage.ram,
        "maxTotalVolumes": quotas.volumes,
        "totalVolumesUsed": usage.volumes,
        "maxTotalVolumeGigabytes": quotas.gigabytes,
        "totalGigabytesUsed": usage.gigabytes,
        "maxTotalSnapshots": quotas.snapshots,
        "totalSnapshotsUsed": usage.snapshots,
        "maxTotalFloatingIps": quotas.floating_ips,
        "totalFloatingIpsUsed": usage.floating_ips,
        "maxSecurityGroups": quotas.security_groups,
        "totalSecurityGroupsUsed": usage.security_groups,
        "maxSecurityGroupRules": quotas.security_group_rules,
        "maxTotalKeypairs": quotas.keypairs,
        "maxPersonality": quotas.personality,
        "maxPersonalitySize": quotas.personality_size,
        "maxImageMeta": quotas.image_meta,
        "maxServerMeta": quotas.server_meta,
    }


ACTIONS = {"GetUsageLimits": get_usage_limits}


def _success(message: str, data: object) -> JsonResponse:
    return _json({"message": message, "code": 200, "data": data})


def _error(code: int, error: str, message: str) -> JsonResponse:
    return _json({"message": message, "code": code, "data": {}, "error": error}, status=code)


def _json(content: dict[str, object], status: int = 200) -> JsonResponse:
    response = JsonResponse(content, status=status, json_dumps_params={"separators": (",", ":")})
    # The only feature needed of CommonMiddleware.
    response["Content-Length"] = len(response.content)
    return response
