"""Texts of the templates in both languages, by the key with which they ask for them: `{{ t("home.title") }}`."""

from collections.abc import Mapping
from typing import Final

from cloudconsole.spec.i18n import Text

MESSAGES: Final[Mapping[str, Text]] = {
    # Every page
    "console": Text("Cloud Console", "云控制台"),
    "console.for_operators": Text("for operators", "管理后台"),
    "page.title": Text("{page} · Cloud Console for operators", "{page} · 云控制台管理后台"),
    "page.skip": Text("Skip to main content", "跳到主要内容"),
    "page.nav": Text("Main", "页面导航"),
    "page.tenant_console": Text("Tenant console", "租户控制台"),
    "page.account": Text("Signed in as", "当前账户"),
    "page.sign_out": Text("Sign out", "退出登录"),
    "page.language": Text("Language", "语言"),
    "page.theme": Text("Theme", "主题"),
    "page.theme.system": Text("System", "跟随系统"),
    "page.theme.light": Text("Light", "浅色"),
    "page.theme.dark": Text("Dark", "深色"),
    "page.zone": Text("Times are in {zone}.", "时间所用时区：{zone}。"),
    "page.printed": Text("Account {username}, page of {time}", "账户 {username}，页面生成于 {time}"),
    "punctuation.colon": Text(": ", "："),
    "punctuation.semicolon": Text("; ", "；"),
    "punctuation.parentheses": Text(" ({text})", "（{text}）"),
    "value.none": Text("none", "无"),
    "value.unlimited": Text("unlimited", "不限"),
    "value.yes": Text("yes", "是"),
    "value.no": Text("no", "否"),
    # Home
    "home.title": Text("Overview", "概览"),
    "home.attention": Text("Needs attention", "待处理事项"),
    "home.attention.none": Text("Nothing needs attention.", "暂无待处理事项。"),
    "home.attention.as_of": Text("Quotas and resources as of {moment}.", "配额和资源数据截至 {moment}。"),
    "home.audit": Text(
        "Every change operators make, on these pages or with the CLI.", "管理员通过本后台或命令行所做的全部操作。"
    ),
    "home.logins": Text("Logins and logouts", "登录与退出"),
    "home.recent": Text("Recent changes", "最近操作"),
    "home.recent.all": Text("All changes", "全部操作"),
    "home.recent.none": Text("No changes yet.", "暂无操作记录。"),
    "home.scheduled": Text("Scheduled news", "待发布公告"),
    "home.scheduled.all": Text("All scheduled news", "全部待发布公告"),
    "home.scheduled.none": Text("No news is scheduled.", "暂无待发布公告。"),
    "home.effect": Text("Changes are audited and take effect immediately.", "所有操作均会记入审计日志，并立即生效。"),
    # Lists
    "list.add": Text("Add {entity}", "添加{entity}"),
    "list.search": Text("Search {entities}", "搜索{entities}"),
    "list.search.failed": Text("Search failed", "搜索失败"),
    "list.csv": Text("Download CSV", "下载 CSV"),
    "list.csv.failed": Text("Nothing was downloaded", "未下载任何内容"),
    "list.matching": Text("{entities} matching the filters", "符合条件的{entities}"),
    "list.caption": Text("{entities}, {total} in total", "{entities}，共 {total} 条"),
    "list.caption.part": Text("{entities}, {count} of {total}", "{entities}，共 {total} 条，本页 {count} 条"),
    "list.state": Text("State", "状态"),
    "list.keys": Text(
        "The keys j and k or the arrows move through the rows, Enter opens one, / searches.",
        "按 j、k 或方向键选择行，按 Enter 打开，按 / 搜索。",
    ),
    "list.keys.toggle": Text("Keyboard shortcuts", "键盘快捷键"),
    "list.empty": Text("No {entities} yet.", "暂无{entities}。"),
    "list.not_found": Text("No {entities} found.", "未找到符合条件的{entities}。"),
    "list.search.submit": Text("Search", "搜索"),
    "list.search.clear": Text("Clear filters", "清除条件"),
    "list.pages": Text("Pagination", "分页"),
    "list.pages.first": Text("First page", "第一页"),
    "list.pages.previous": Text("Previous page", "上一页"),
    "list.pages.next": Text("Next page", "下一页"),
    # Forms
    "form.edit": Text("Edit", "编辑"),
    "form.add": Text("Add", "添加"),
    "form.save": Text("Save", "保存"),
    "form.preview": Text("Preview", "预览"),
    "form.cancel": Text("Cancel", "取消"),
    "form.force": Text("Proceed anyway", "仍然继续"),
    "form.optional": Text("– optional", "（可选）"),
    "form.unlimited": Text("unlimited", "不限"),
    "form.flavor": Text("Sizes of a flavor", "按主机配置填写"),
    "form.flavor.help": Text("Fills in cores, RAM and disk.", "自动填写核数、内存和系统盘。"),
    "panel.prices": Text("Prices in force and scheduled", "生效中和待生效的价格"),
    "panel.quotas": Text("Free quota of {tenant}", "{tenant} 的剩余配额"),
    "panel.quotas.free": Text("{free} of {limit}", "{free} / {limit}"),
    "form.failed": Text("Nothing was changed", "未做任何更改"),
    "form.failed.many": Text("{title}: {count} problems", "{title}：共 {count} 个问题"),
    # Pages of one entity
    "detail.heading": Text("{entity} {key}", "{entity} {key}"),
    "detail.quotas_of": Text("Quotas for {key}", "{key} 的配额"),
    "detail.price": Text("Price: {key}", "价格：{key}"),
    "detail.conflict.changes": Text("View recent changes", "查看最近操作"),
    "detail.quotas": Text("Quotas", "配额"),
    "detail.quotas.edit": Text("Edit quotas", "编辑配额"),
    "detail.quotas.openstack": Text(
        "These quotas apply to accounts of this console. Users who log in through OpenStack see their OpenStack "
        "quotas and usage.",
        "这些配额适用于本控制台的账户。通过 OpenStack 登录的用户看到的是其 OpenStack 配额和用量。",
    ),
    "detail.quotas.usage": Text("{used} of {limit}", "{used} / {limit}"),
    "detail.quotas.over": Text("over quota", "超出配额"),
    "detail.add": Text("Add to this {entity}", "添加到此{entity}"),
    "detail.actions": Text("Actions", "操作"),
    "detail.related": Text("See also", "相关页面"),
    "preview.title": Text("Preview", "预览"),
    "preview.help": Text(
        "This is how tenants will see the item. It is not saved yet.", "租户将看到如下公告。此内容尚未保存。"
    ),
    "preview.scheduled": Text("It will appear at the given time.", "公告将在所设时间发布。"),
    "action.heading": Text("{action}: {entity} {key}", "{action}：{entity} {key}"),
    "action.dependents": Text("This {entity} cannot be deleted yet", "暂时无法删除此{entity}"),
    "action.dependents.count": Text("{count} {entities}", "{count} 个{entities}"),
    "action.dependents.help": Text(
        "They belong to this {entity}: delete them first.", "以上内容属于此{entity}，请先将其删除。"
    ),
    "action.dependents.disable": Text(
        "To take it out of use now, disable it instead.", "如需立即停止使用，可改为停用。"
    ),
    "action.disable": Text("Disable", "停用"),
    # Audit log
    "audit.title": Text("Audit log", "审计日志"),
    "audit.search": Text("Search the audit log", "搜索审计日志"),
    "audit.caption.access": Text("Logins and logouts, newest first", "登录与退出，按时间倒序"),
    "audit.caption.changes": Text("Operator changes, newest first", "管理操作，按时间倒序"),
    "audit.entry": Text("Entry", "编号"),
    "audit.time": Text("Time", "时间"),
    "audit.event": Text("Event", "事件"),
    "audit.account": Text("Account", "账户"),
    "audit.address": Text("Address", "地址"),
    "audit.request": Text("Request ID", "请求 ID"),
    "audit.actor": Text("Actor", "操作者"),
    "audit.change": Text("Change", "操作"),
    "audit.subject": Text("Subject", "对象"),
    "audit.details": Text("Details", "详情"),
    "audit.empty": Text("No entries found.", "未找到符合条件的记录。"),
    # Errors
    "error.code": Text("Status {code}, request ID {request}.", "状态码 {code}，请求 ID {request}。"),
    "error.home": Text("Go to the overview", "返回概览"),
    # Sign-in
    "sign_in.title": Text("Sign in", "登录"),
    "sign_in.submit": Text("Sign in", "登录"),
    "sign_in.help": Text(
        "For operators only. Operator sessions are separate from tenant sessions.",
        "仅限管理员登录。管理员会话与租户会话相互独立。",
    ),
    "sign_in.username": Text("Username", "用户名"),
    "sign_in.password": Text("Password", "密码"),
    "sign_in.again": Text(
        "Already signed in? Browsers withhold the session cookie when you follow a link from an email or another site.",
        "已经登录？从邮件或其他网站的链接打开本页时，浏览器不会发送会话 Cookie。",
    ),
    "sign_in.again.link": Text("Continue without signing in", "无需登录，直接继续"),
    "sign_in.tenants": Text("Tenants sign in to the tenant console.", "租户请登录租户控制台。"),
    "sign_in.tenants.link": Text("Go to the tenant console", "前往租户控制台"),
}
