"""Labels, help texts, units and groups of fields, and names of prices, in both languages."""

import re
from collections.abc import Mapping
from typing import Final

from cloudconsole.operator.entities.fields_and_filters import Filter, InputField
from cloudconsole.operator.entities.prices import unescaped
from cloudconsole.operator.messages import Message
from cloudconsole.server.admin_ui.names import ENTITIES, QUOTAS, title_of
from cloudconsole.spec.i18n import Text

CURRENCY: Final = "¤"
"""Placeholder for the console's currency in a unit."""

_LABELS: Final[Mapping[str, Text]] = {
    "address": Text("Address", "地址"),
    "advOriginConfigs": Text("Advanced origin settings", "高级回源配置"),
    "cacheBehaviors": Text("Cache behaviors", "缓存行为"),
    "cname": Text("CNAME", "CNAME"),
    "comment": Text("Comment", "备注"),
    "date": Text("Date", "发布时间"),
    "disabled": Text("Disabled", "已停用"),
    "disk": Text("System disk", "系统盘"),
    "enabled": Text("Acceleration", "加速"),
    "ended": Text("Ended", "结束时间"),
    "failures": Text("Failed sign-ins", "登录失败次数"),
    "from": Text("In force from", "生效时间"),
    "id": Text("ID", "ID"),
    "kind": Text("Kind", "种类"),
    "language": Text("Language", "语言"),
    "lines": Text("Lines", "行"),
    "name": Text("Name", "名称"),
    "node": Text("Node", "节点"),
    "originConfig": Text("Origin", "源站"),
    "originDomainName": Text("Origin domain", "源站域名"),
    "originIps": Text("Origin IP addresses", "源站 IP"),
    "password": Text("Password", "密码"),
    "password_again": Text("Repeated password", "确认密码"),
    "pinned": Text("Pinned", "置顶"),
    "price": Text("Price", "价格"),
    "project": Text("OpenStack project", "OpenStack 项目"),
    "queryStringSettings": Text("Query string settings", "查询字符串设置"),
    "ram": Text("RAM", "内存"),
    "role": Text("Role", "角色"),
    "resources": Text("Resources", "资源"),
    "serviceAreas": Text("Service areas", "加速区域"),
    "serviceType": Text("Service type", "服务类型"),
    "sessions": Text("Sessions", "会话"),
    "sort": Text("Sort", "排序"),
    "size": Text("Size", "容量"),
    "started": Text("Started", "开始时间"),
    "status": Text("Deployment status", "部署状态"),
    "tenant": Text("Tenant", "租户"),
    "title": Text("Title", "标题"),
    "type": Text("Type", "类型"),
    "unit": Text("Unit", "计价单位"),
    "url": Text("URL", "URL"),
    "username": Text("Username", "用户名"),
    "vcpus": Text("Cores", "核数"),
    "visitControlRules": Text("Access control rules", "访问控制规则"),
    "wrong": Text("Wrong counters", "错误计数"),
    **{f"quota.{name}": label for name, label in QUOTAS.items()},
    **{f"load.{name}s": Text(title_of(each.many.en), each.many.zh) for name, each in ENTITIES.items()},
    "load.news": Text("News", "公告"),
    "domain.id": Text("Domain ID", "域名 ID"),
    "domain.name": Text("Domain name", "域名"),
    "news.disabled": Text("Withdrawn", "已撤回"),
}
"""By field, or by entity type and field."""

_HELPS: Final[Mapping[tuple[str, str], Text | str]] = {
    ("tenant", "name"): Text("Unique name of at most 255 characters.", "名称须唯一，最多 255 个字符。"),
    ("tenant", "project"): Text(
        "Project ID, @ and the address of its identity service; empty without OpenStack.",
        "格式为“项目 ID@认证服务地址”；不使用 OpenStack 时留空。",
    ),
    ("tenant", "disabled"): Text("Its accounts cannot sign in.", "停用后，其账户无法登录。"),
    ("account", "tenant"): Text("The tenant it acts for.", "账户所属的租户。"),
    ("account", "username"): Text(
        "Unique name for signing in, at most 64 characters.", "登录名须唯一，最多 64 个字符。"
    ),
    ("account", "role"): Text(
        "Operators can also use these pages, and change everything of all tenants.",
        "管理员还可以使用本管理后台，并可修改所有租户的全部内容。",
    ),
    ("account", "disabled"): Text("It cannot sign in.", "停用后无法登录。"),
    ("node", "name"): Text("Unique name of at most 255 characters.", "名称须唯一，最多 255 个字符。"),
    ("node", "disabled"): Text("It accepts no new resources.", "停用后不再接受新资源。"),
    ("price", "kind"): Text("What the price is for.", "计价的资源种类。"),
    ("price", "unit"): Text(
        "Instances are priced each, per core and per GB of RAM; volumes and images per GB; load balancers each.",
        "云主机按台、按核数和按 GB 内存计价；云硬盘和镜像按 GB 计价；负载均衡按个计价。",
    ),
    ("price", "type"): Text(
        "A flavor's name for instances that are priced each, a volume type for volumes; "
        "empty for all without a specific price.",
        "按个计价的云主机填写主机配置名称，云硬盘填写云硬盘类型；留空则适用于没有专门价格的所有类型。",
    ),
    ("price", "node"): Text("Empty for all nodes without a specific price.", "留空则适用于没有专门价格的所有节点。"),
    ("price", "price"): Text(
        "For one unit, with at most nine decimals, such as 0.35.", "每单位的价格，最多九位小数，例如 0.35。"
    ),
    ("price", "from"): "",
    ("resource", "tenant"): "",
    ("resource", "id"): Text("Unique across all tenants, at most 64 characters.", "在所有租户中唯一，最多 64 个字符。"),
    ("resource", "kind"): "",
    ("resource", "name"): Text("The name its tenant sees.", "租户看到的名称。"),
    **{("resource", name): "" for name in ("node", "vcpus", "ram", "disk", "size")},
    ("resource", "started"): Text("Now if empty.", "留空为当前时间。"),
    ("resource", "ended"): Text("Empty if the end is not known.", "结束时间未定时留空。"),
    ("flavor", "id"): Text("Unique number, such as 12.", "编号须唯一，例如 12。"),
    ("flavor", "name"): Text("Unique name that tenants see.", "租户看到的名称，须唯一。"),
    **{("flavor", name): "" for name in ("vcpus", "ram", "disk")},
    ("flavor", "disabled"): Text("It is no longer offered to tenants.", "停用后不再向租户提供。"),
    ("url", "tenant"): Text("Empty to publish it to all tenants.", "留空则对所有租户可见。"),
    ("url", "id"): Text(
        "url- and eight lowercase letters or digits; generated if empty.",
        "url- 加八位小写字母或数字；留空则自动生成。",
    ),
    ("url", "type"): "",
    ("url", "url"): Text("Address that begins with http:// or https://.", "以 http:// 或 https:// 开头的地址。"),
    ("url", "disabled"): Text("Tenants do not see it.", "停用后对租户不可见。"),
    ("domain", "tenant"): "",
    ("domain", "id"): Text(
        "Unique number by which tenants look it up, such as 206813.", "租户用于查询的唯一编号，例如 206813。"
    ),
    ("domain", "name"): Text("Host name, such as www.example.com.", "主机名，例如 www.example.com。"),
    ("domain", "comment"): Text("Comment that the tenant sees.", "租户可见的备注。"),
    ("domain", "serviceAreas"): Text(
        "Where it is served, separated by semicolons, such as hk;ov.", "提供加速的区域，以分号分隔，例如 hk;ov。"
    ),
    ("domain", "serviceType"): Text("What it serves, such as web.", "服务类型，例如 web。"),
    ("domain", "enabled"): Text("The domain is accelerated.", "启用后提供加速服务。"),
    ("domain", "cname"): Text("Name that the domain points to.", "域名所指向的 CNAME。"),
    ("domain", "status"): Text("How far its setup is, such as Deployed.", "部署进度，例如 Deployed。"),
    ("domain", "cacheBehaviors"): Text(
        'JSON list, such as [{"pathPattern": "/static/*", "ttlSeconds": 86400}].',
        'JSON 列表，例如 [{"pathPattern": "/static/*", "ttlSeconds": 86400}]。',
    ),
    ("domain", "visitControlRules"): Text(
        'JSON list, such as [{"type": "referer", "mode": "deny"}].',
        'JSON 列表，例如 [{"type": "referer", "mode": "deny"}]。',
    ),
    ("domain", "originConfig"): "",
    ("domain", "queryStringSettings"): Text("How query strings are handled.", "查询字符串的处理方式。"),
    ("news", "id"): Text("Unique number; the next one if empty.", "编号须唯一；留空则自动递增。"),
    ("news", "date"): Text("Tenants see the item from then on; now if empty.", "租户自该时间起可见；留空为当前时间。"),
    ("news", "title"): Text("One line of text that tenants see.", "租户看到的单行标题。"),
    ("news", "url"): Text(
        "Page that the title links to, beginning with http:// or https://.",
        "标题所链接的页面，以 http:// 或 https:// 开头。",
    ),
    ("news", "language"): Text(
        "Language of the title; empty for readers of both.", "标题的语言；留空则面向两种语言的读者。"
    ),
    ("news", "pinned"): Text(
        "Tenants see it as important, at the top of every page.", "置顶后作为重要公告显示在租户所有页面的顶部。"
    ),
    ("news", "disabled"): Text("Tenants no longer see it.", "撤回后对租户不可见。"),
}
USUAL_VALUES: Final[Mapping[tuple[str, str], tuple[tuple[str, Text], ...]]] = {
    ("domain", "serviceAreas"): (
        ("cn", Text("Mainland China", "中国内地")),
        ("hk", Text("Hong Kong, China", "中国香港")),
        ("mo", Text("Macao, China", "中国澳门")),
        ("ov", Text("Outside China", "海外")),
        ("cn;hk;mo;ov", Text("Everywhere", "全球")),
    ),
    ("domain", "serviceType"): (
        ("web", Text("Web", "网页")),
        ("download", Text("Download", "下载")),
        ("vod", Text("Video on demand", "视频点播")),
        ("live", Text("Live streaming", "直播")),
    ),
    ("domain", "status"): (
        ("InProgress", Text("In progress", "部署中")),
        ("Deployed", Text("Deployed", "已部署")),
        ("Disabled", Text("Disabled", "已停用")),
    ),
}
"""Values of free text that the tenant console names, with these names."""
_WITHOUT_DEFAULT: Final[Mapping[tuple[str, str], Text | str]] = {
    ("url", "id"): "",
    ("news", "id"): "",
    ("news", "date"): Text("Tenants see the item from then on.", "租户自该时间起可见。"),
    ("resource", "started"): "",
}
"""Help of fields in existing records, where it differs: an empty value means no default there."""

_QUOTA_GROUPS: Final = {
    Text("Compute", "计算"): ("instances", "cores", "ram"),
    Text("Storage", "存储"): ("volumes", "gigabytes", "snapshots"),
    Text("Network", "网络"): ("floating_ips", "security_groups", "security_group_rules"),
    Text("Limits", "上限"): ("keypairs", "personality", "personality_size", "image_meta", "server_meta"),
}
RULES: Final = Text("Rules", "规则")
_GROUPS: Final[Mapping[tuple[str, str], Text]] = {
    **{("quota", name): group for group, names in _QUOTA_GROUPS.items() for name in names},
    **{
        ("domain", name): Text("Delivery", "加速配置")
        for name in ("serviceAreas", "serviceType", "enabled", "cname", "status")
    },
    **{("domain", name): RULES for name in ("cacheBehaviors", "visitControlRules", "queryStringSettings")},
    **{("resource", name): Text("For instances", "适用于云主机") for name in ("vcpus", "ram", "disk")},
    ("resource", "node"): Text("For all but security groups and key pairs", "适用于安全组和密钥对以外的资源"),
    ("resource", "size"): Text("For volumes, snapshots and images", "适用于云硬盘、快照和镜像"),
}
_UNITS: Final[Mapping[tuple[str, str], Text]] = {
    ("quota", "ram"): Text("MB", "MB"),
    ("quota", "gigabytes"): Text("GB", "GB"),
    ("quota", "personality_size"): Text("bytes", "字节"),
    ("flavor", "ram"): Text("MB", "MB"),
    ("flavor", "disk"): Text("GB", "GB"),
    ("resource", "ram"): Text("MB", "MB"),
    ("resource", "disk"): Text("GB", "GB"),
    ("resource", "size"): Text("GB", "GB"),
    ("price", "price"): Text(f"{CURRENCY} per hour", f"{CURRENCY}/小时"),
}
_FILTERS: Final[Mapping[str, Text]] = {
    "search": Text("Name", "名称"),
    "tenant.search": Text("Name or project", "名称或项目"),
    "account.search": Text("Username", "用户名"),
    "quota.search": Text("Tenant", "租户名称"),
    "price.search": Text("Type or node", "类型或节点"),
    "resource.search": Text("ID or name", "ID 或名称"),
    "flavor.search": Text("ID or name", "ID 或名称"),
    "url.search": Text("ID or URL", "ID 或 URL"),
    "domain.search": Text("ID, name or CNAME", "ID、域名或 CNAME"),
    "news.search": Text("Title or URL", "标题或 URL"),
    "quota.near": Text("At least 80% used only", "仅使用率 ≥ 80%"),
    "disabled": Text("Disabled only", "仅已停用"),
    "news.disabled": Text("Withdrawn only", "仅已撤回"),
    "news.pinned": Text("Pinned only", "仅置顶"),
    "news.upcoming": Text("Scheduled only", "仅待发布"),
    "resource.running": Text("Active only", "仅使用中"),
    "url.shared": Text("Published to all only", "仅对所有租户可见"),
}
_PRICED: Final = {
    ("instance", "each"): Text("Instance", "云主机每台"),
    ("instance", "vcpu"): Text("Core of an instance", "云主机每核"),
    ("instance", "ram_gb"): Text("GB of RAM of an instance", "云主机每 GB 内存"),
    ("image", "gb"): Text("GB of an image", "镜像每 GB"),
    ("loadbalance", "each"): Text("Load balancer", "负载均衡每个"),
    ("volume", "gb"): Text("GB of a volume", "云硬盘每 GB"),
}
_OF_FLAVOR: Final = ("{what} of the flavor {type}", "{what}（主机配置 {type}）")
_OF_TYPE: Final = ("{what} of the type {type}", "{what}（类型 {type}）")


def label_of(name: str, entity: str | None = None) -> Text | str:
    """Return `Service areas` for `serviceAreas`, `Volume and snapshot storage` for a quota's `gigabytes`."""
    label = _LABELS.get(f"{entity}.{name}") or _LABELS.get(name)
    if label is not None:
        return label
    spaced = re.sub(r"[A-Z]", lambda capital: f" {capital.group().lower()}", name).replace("_", " ")
    return spaced.capitalize()


def help_of(entity: str, given: InputField, *, is_new: bool = True) -> Text | Message | str:
    """Return the help below a field, if necessary in English."""
    if entity == "quota" and given.shape == "number":
        return Message("Default: {limit}", "默认值：{limit}", limit=given.help.removeprefix("default "))
    key = (entity, given.name)
    text = _HELPS.get(key, given.help)
    return text if is_new else _WITHOUT_DEFAULT.get(key, text)


def unit_of(entity: str, name: str) -> Text | str:
    return _UNITS.get((entity, name), "")


def group_of(entity: str, name: str) -> Text | str:
    """Return the form group of a field; empty if there is none."""
    return _GROUPS.get((entity, name), "")


def filter_label(entity: str, name: str, chosen: Filter) -> Text | str:
    """Return the label of a list filter: that of the field, unless it is about something else."""
    own = _FILTERS.get(f"{entity}.{name}") or _FILTERS.get(name)
    return own or (chosen.help if chosen.is_switch else label_of(name, entity))


def price_name(key: str, moment: str) -> Message | str:
    """Return `Core of an instance on fra-1, from 2026-01-01 00:00` for a price's key and its formatted time."""
    what = priced_name(key)
    return key if what is None else Message("{what}, from {moment}", "{what}，{moment} 起", what=what, moment=moment)


def priced_name(key: str) -> Message | Text | None:
    """Return `Core of an instance on fra-1` for a price's key; None if it is not one."""
    what, unit, _, node, *_ = (*key.split("/", 3), "", "", "", "")
    kind, _, escaped = what.partition(":")
    if (kind, unit) not in _PRICED:
        return None
    priced: Text | Message = _PRICED[kind, unit]
    if escaped:
        priced = Message(*(_OF_FLAVOR if kind == "instance" else _OF_TYPE), what=priced, type=unescaped(escaped))
    if node:
        priced = Message("{what} on {node}", "{what}，节点 {node}", what=priced, node=node)
    return priced
