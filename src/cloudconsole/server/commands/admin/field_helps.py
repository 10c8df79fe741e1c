"""Chinese help texts of entity fields and list filters, by the English text in their declaration."""

import re
from collections.abc import Mapping
from typing import Final

from cloudconsole.cli.i18n import current_language

_FIELDS: Final[Mapping[str, str]] = {
    "the tenant's name, unique": "租户名称，须唯一",
    "its OpenStack project, as ID@ADDRESS of the identity service": (
        "OpenStack 项目，格式为 ID@ADDRESS（项目 ID@认证服务地址）"
    ),
    "its accounts cannot log in": "停用后，其账户无法登录",
    "the node's name, unique": "节点名称，须唯一",
    "accepts no new resources": "停用后不再接受新资源",
    "a unique number, such as 12": "编号，须唯一，例如 12",
    "the name tenants see, unique": "租户看到的名称，须唯一",
    "cores": "核数",
    "RAM in MB": "内存（MB）",
    "system disk in GB": "系统盘（GB）",
    "no longer offered": "停用后不再向租户提供",
    "instance, image, loadbalance or volume": (
        "instance（云主机）、image（镜像）、loadbalance（负载均衡）或 volume（云硬盘）"
    ),
    "each, vcpu, ram_gb or gb, as the kind is priced": (
        "each（每个）、vcpu（每核）、ram_gb（每 GB 内存）或 gb（每 GB），依资源种类而定"
    ),
    "the flavor (instance by each) or volume type (volume by gb) it applies to (default: all)": (
        "适用的主机配置（云主机按 each 计价）或云硬盘类型（云硬盘按 gb 计价）（默认全部）"
    ),
    "the node it applies to (default: all without a node price)": "适用的节点（默认为没有专门价格的所有节点）",
    "per hour and unit, at most nine decimals": "每小时、每单位的价格，最多九位小数",
    "when it takes effect": "生效时间",
    "the text tenants see, in one line": "租户看到的单行标题",
    "the page the title links to": "标题所链接的页面",
    "the language of the title, en or zh (default: none, for readers of both)": (
        "标题的语言，en 或 zh（默认无，面向两种语言的读者）"
    ),
    "important: at the top of every page of tenants": "重要：显示在租户所有页面的顶部",
    "withdrawn": "已撤回",
    "url- followed by eight lowercase letters or digits, such as url-a1b2c3d4": (
        "url- 加八位小写字母或数字，例如 url-a1b2c3d4"
    ),
    "link, or directory for one that lists others": "link（链接），或 directory（列出其他链接的目录）",
    "the address tenants see, http or https": "租户看到的地址，http 或 https",
    "not shown": "停用后租户不可见",
    "the login name": "登录名",
    "tenant, or operator for access to the admin UI": "tenant（租户），或 operator（可使用管理后台的管理员）",
    "cannot log in": "停用后无法登录",
    "the number tenants look it up by, such as 206813": "租户用于查询的编号，例如 206813",
    "the domain's name, such as www.example.com": "域名，例如 www.example.com",
    "a comment, visible to the tenant": "租户可见的备注",
    "where it is served, such as hk;ov": "服务区域，例如 hk;ov",
    "what it serves, such as web": "业务类型，例如 web",
    "whether it is accelerated": "是否加速",
    "the name it points to": "域名所指向的 CNAME",
    "such as Deployed": "部署状态，例如 Deployed",
    'a list, such as [{"pathPattern": "/static/*", "ttlSeconds": 86400}]': (
        '缓存规则，为列表，例如 [{"pathPattern": "/static/*", "ttlSeconds": 86400}]'
    ),
    'a list, such as [{"type": "referer", "mode": "deny"}]': (
        '访问控制规则，为列表，例如 [{"type": "referer", "mode": "deny"}]'
    ),
    "originIps, advOriginConfigs and originDomainName": "源站，含 originIps、advOriginConfigs 和 originDomainName",
    "how query strings are handled": "查询参数的处理方式",
    "unique across all tenants": "ID，在所有租户中唯一",
    "what it is, such as instance or volume": "资源种类，例如 instance（云主机）或 volume（云硬盘）",
    "the name its tenant sees": "租户看到的名称",
    "the node it is on": "所在节点",
    "cores of an instance": "云主机的核数",
    "RAM of an instance in MB": "云主机的内存（MB）",
    "system disk of an instance in GB": "云主机的系统盘（GB）",
    "size of a volume, snapshot or image in GB": "云硬盘、快照或镜像的容量（GB）",
    "when it ends": "结束时间",
    "when it starts (default: now)": "开始时间（默认为当前时间）",
    "a unique number (default: the next one)": "编号，须唯一（默认递增）",
    "when it appears (default: now)": "发布时间（默认为当前时间）",
    "url- followed by eight lowercase letters or digits, such as url-a1b2c3d4 (default: generated)": (
        "url- 加八位小写字母或数字，例如 url-a1b2c3d4（默认自动生成）"
    ),
    "the tenant it acts for": "账户所属的租户",
    "the tenant it is published to (default: all)": "可见此 URL 的租户（默认全部）",
    "the tenant it belongs to": "所属的租户",
    "the tenant's name": "租户名称",
}
_FILTERS: Final[Mapping[str, str]] = {
    "only those whose name contains this, ignoring the case of A to Z": "只列出名称包含此文字的项（A 至 Z 不分大小写）",
    "only those whose username contains this, ignoring the case of A to Z": (
        "只列出用户名包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose id or name contains this, ignoring the case of A to Z": (
        "只列出ID 或名称包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose id or URL contains this, ignoring the case of A to Z": (
        "只列出ID 或 URL包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose id, name or CNAME contains this, ignoring the case of A to Z": (
        "只列出ID、域名或 CNAME包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose title or URL contains this, ignoring the case of A to Z": (
        "只列出标题或 URL包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose type or node contains this, ignoring the case of A to Z": (
        "只列出类型或节点包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose tenant contains this, ignoring the case of A to Z": (
        "只列出租户名称包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose name or OpenStack project contains this, ignoring the case of A to Z": (
        "只列出名称或 OpenStack 项目包含此文字的项（A 至 Z 不分大小写）"
    ),
    "only those whose name begins with this": "只列出名称以此开头的项",
    "only those whose tenant begins with this": "只列出租户名称以此开头的项",
    "only those whose id or name begins with this": "只列出 ID 或名称以此开头的项",
    "only of tenants that use at least 80 percent of a quota": "只列出某项配额使用率不低于百分之 80 的租户",
    "only the disabled ones": "只列出已停用的项",
    "only this tenant's": "只列出此租户的项",
    "only this kind": "只列出此种类的项",
    "only accounts with this role": "只列出此角色的账户",
    "only those published to all": "只列出对所有租户可见的项",
    "only those not in service": "只列出未启用的域名",
    "only those still to appear": "只列出待发布的公告",
    "only the pinned ones": "只列出置顶的公告",
    "only the withdrawn ones": "只列出已撤回的公告",
    "only those for this flavor or volume type": "只列出此主机配置或云硬盘类型的价格",
    "only those for this node": "只列出此节点的价格",
    "only those on this node": "只列出此节点上的资源",
    "only running resources": "只列出运行中的资源",
    "only the tenant of this OpenStack project": "只列出此 OpenStack 项目的租户",
}
_DEFAULT: Final = re.compile(r"default (-?[0-9]+)")


def help_of(text: str) -> str:
    """Return the help of a field or filter in the language of the output."""
    if current_language() == "en":
        return text
    return _FIELDS.get(text) or _FILTERS.get(text) or _DEFAULT.sub(r"默认 \1", text)
