"""Names of entity types, kinds, units, states and changes in both languages."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cloudconsole.operator.entities import EntityType
from cloudconsole.operator.messages import Message, Term, TermGroup
from cloudconsole.spec.i18n import Language, Text


class EntityNames(NamedTuple):
    one: Text
    many: Text


ENTITIES: Final[Mapping[str, EntityNames]] = {
    "tenant": EntityNames(Text("tenant", "租户"), Text("tenants", "租户")),
    "account": EntityNames(Text("account", "账户"), Text("accounts", "账户")),
    "quota": EntityNames(Text("tenant", "租户"), Text("quotas", "配额")),
    "node": EntityNames(Text("node", "节点"), Text("nodes", "节点")),
    "price": EntityNames(Text("price", "价格"), Text("prices", "价格")),
    "resource": EntityNames(Text("resource", "资源"), Text("resources", "资源")),
    "flavor": EntityNames(Text("flavor", "主机配置"), Text("flavors", "主机配置")),
    "url": EntityNames(Text("URL", "常用 URL"), Text("common URLs", "常用 URL")),
    "domain": EntityNames(Text("domain", "加速域名"), Text("domains", "加速域名")),
    "news": EntityNames(Text("news item", "公告"), Text("news", "公告")),
}

KINDS: Final[Mapping[str, Text]] = {
    "instance": Text("Instance", "云主机"),
    "image": Text("Image", "镜像"),
    "loadbalance": Text("Load balancer", "负载均衡"),
    "volume": Text("Volume", "云硬盘"),
    "snapshot": Text("Snapshot", "快照"),
    "floating_ip": Text("Floating IP", "浮动 IP"),
    "security_group": Text("Security group", "安全组"),
    "keypair": Text("Key pair", "密钥对"),
}
UNITS: Final[Mapping[str, Text]] = {
    "each": Text("Each", "每个"),
    "vcpu": Text("Per core", "每核"),
    "ram_gb": Text("Per GB of RAM", "每 GB 内存"),
    "gb": Text("Per GB", "每 GB"),
}
ROLES: Final[Mapping[str, Text]] = {"tenant": Text("Tenant", "租户"), "operator": Text("Operator", "管理员")}
QUOTAS: Final[Mapping[str, Text]] = {
    "instances": Text("Instances", "云主机"),
    "cores": Text("Cores", "核数"),
    "ram": Text("RAM", "内存"),
    "volumes": Text("Volumes", "云硬盘"),
    "gigabytes": Text("Volume and snapshot storage", "云硬盘与快照容量"),
    "snapshots": Text("Snapshots", "快照"),
    "floating_ips": Text("Floating IPs", "浮动 IP"),
    "security_groups": Text("Security groups", "安全组"),
    "security_group_rules": Text("Rules per security group", "每个安全组的规则"),
    "keypairs": Text("Key pairs", "密钥对"),
    "personality": Text("Injected files per instance", "每台云主机的注入文件"),
    "personality_size": Text("Size of an injected file", "注入文件大小"),
    "image_meta": Text("Metadata items per image", "每个镜像的元数据项"),
    "server_meta": Text("Metadata items per instance", "每台云主机的元数据项"),
}
EVENTS: Final[Mapping[str, Text]] = {
    "backup": Text("Back up", "备份"),
    "copy-to-postgresql": Text("Copy to PostgreSQL", "复制到 PostgreSQL"),
    "dump": Text("Dump to file", "导出为文件"),
    "end-sessions": Text("End all sessions", "结束所有会话"),
    "import": Text("Import resources", "导入资源"),
    "load": Text("Load file", "加载文件"),
    "login": Text("Sign in", "登录"),
    "login_refused": Text("Failed sign-in", "登录失败"),
    "logout": Text("Sign out", "退出登录"),
    "operator_login": Text("Operator sign-in", "管理员登录"),
    "operator_login_refused": Text("Failed operator sign-in", "管理员登录失败"),
    "operator_logout": Text("Operator sign-out", "管理员退出登录"),
    "news.disable": Text("Withdraw news item", "撤回公告"),
    "news.enable": Text("Publish news item again", "重新发布公告"),
    "prune": Text("Delete old entries", "清理旧记录"),
    "quota.change": Text("Change quotas", "修改配额"),
    "quota.reset": Text("Reset quotas", "恢复默认配额"),
    "recount": Text("Correct counters", "校正计数"),
    "restore": Text("Restore backup", "恢复备份"),
    "session_revoked": Text("Session revoked", "会话被撤销"),
}
"""Other entries of the audit logs, and changes with a name of their own."""
ACCESS_EVENTS: Final = {
    name: EVENTS[name]
    for name in (
        "login",
        "login_refused",
        "logout",
        "session_revoked",
        "operator_login",
        "operator_login_refused",
        "operator_logout",
    )
}
"""Events of the access audit."""
FAILED: Final = "failed"
"""Stands for all events of failed sign-ins in a search."""
CHOICES: Final[Mapping[str, Mapping[str, Text]]] = {
    "kind": KINDS,
    "unit": UNITS,
    "language": {"en": Text("English", "英文"), "zh": Text("Chinese", "中文")},
    "role": ROLES,
    "event": {FAILED: Text("Any failed sign-in", "所有登录失败"), **ACCESS_EVENTS},
    "type": {"link": Text("Link", "链接"), "directory": Text("Directory", "目录")},
}
"""Display names of a field's values."""

STATES: Final[Mapping[str, Text]] = {
    "active": Text("active", "正常"),
    "disabled": Text("disabled", "已停用"),
    "enabled": Text("enabled", "已启用"),
    "ended": Text("ended", "已结束"),
    "in use": Text("active", "使用中"),
    "in force": Text("in force", "生效中"),
    "locked": Text("locked", "已锁定"),
    "published": Text("published", "已发布"),
    "replaced": Text("replaced", "已被取代"),
    "running": Text("running", "运行中"),
    "still to appear": Text("scheduled", "待发布"),
    "still to come": Text("scheduled", "待生效"),
    "still to start": Text("not started", "未开始"),
    "will end": Text("will end", "即将结束"),
    "withdrawn": Text("withdrawn", "已撤回"),
}
CHANGES: Final[Mapping[str, Text]] = {
    "add": Text("Add {entity}", "添加{entity}"),
    "change": Text("Change {entity}", "修改{entity}"),
    "clear-throttle": Text("Unlock {entity}", "解除{entity}锁定"),
    "disable": Text("Disable {entity}", "停用{entity}"),
    "enable": Text("Enable {entity}", "启用{entity}"),
    "end": Text("End {entity}", "结束{entity}"),
    "end-sessions": Text("End sessions of {entity}", "结束{entity}会话"),
    "password": Text("Reset password of {entity}", "重置{entity}密码"),
    "remove": Text("Delete {entity}", "删除{entity}"),
    "rename": Text("Rename {entity}", "重命名{entity}"),
}
"""Changes of entities in the audit log, by verb."""
DONE: Final[Mapping[str, Text]] = {
    "add": Text("added", "已添加"),
    "change": Text("changed", "已修改"),
    "disable": Text("disabled", "已停用"),
    "enable": Text("enabled", "已启用"),
    "end": Text("ended", "已结束"),
    "reset": Text("reset to the defaults", "已恢复为默认值"),
    "remove": Text("deleted", "已删除"),
    "password": Text("password changed, sessions ended", "密码已修改，会话已结束"),
    "end-sessions": Text("sessions ended", "会话已结束"),
}
"""Results of verbs."""
NOTHING_TO_CHANGE: Final = Text("nothing to change", "没有更改")
ADDED_BEFORE: Final = Text("is there already", "已存在")
FORCED: Final = Text("{change} (forced)", "{change}（强制）")

_TERMS: Final[Mapping[TermGroup, Mapping[str, Text]]] = {
    "entity": {names.one.en: names.one for names in ENTITIES.values()} | {"URL": Text("URL", "URL")},
    "kind": KINDS,
    "unit": UNITS,
    "quota": QUOTAS,
    "role": ROLES,
}


def title_of(text: str) -> str:
    return text[:1].upper() + text[1:]


def entity_name(entity: EntityType) -> Text:
    return ENTITIES[entity.name].one


def entity_plural(entity: EntityType) -> Text:
    return ENTITIES[entity.name].many


def term_name(term: Term, language: Language) -> str:
    """Return a term as pages name it, in lower case in the middle of an English sentence."""
    name = _TERMS.get(term.group, {}).get(term.word)
    if name is None:
        return str(term)
    if language == "zh":
        return name.zh
    word = name.en if name.en[:2].isupper() else name.en[0].lower() + name.en[1:]
    return str(term._replace(word=word))


def choice_name(value: Any, field: str) -> Any:
    """Return `Load balancer` for `loadbalance`; other values unchanged."""
    return CHOICES.get(field, {}).get(value, value) if isinstance(value, str) else value


def change_name(change: str) -> Text | Message | str:
    """Return `Disable account` for `account.disable`; unknown changes unchanged."""
    plain = change.removesuffix(" (forced)")
    entity, _, verb = plain.partition(".")
    name: Text | Message | None = EVENTS.get(plain)
    if name is None and verb in CHANGES and entity in ENTITIES:
        name = Message(*CHANGES[verb], entity=ENTITIES[entity].one)
    if name is None:
        return change
    return name if plain == change else Message(*FORCED, change=name)
