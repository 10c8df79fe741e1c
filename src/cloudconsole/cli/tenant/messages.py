"""Messages and help texts of the tenant commands, in English and Chinese."""

from typing import Final

from cloudconsole.spec.i18n import Text

# Flags and arguments

VCPUS_FLAG: Final = Text("only flavors with this number of cores", "只显示此核数的主机配置")
RAM_FLAG: Final = Text(
    "only flavors with this much RAM, in the console's unit (MB)", "只显示此内存的主机配置，单位同控制台（MB）"
)
PLOT_FLAG: Final = Text("draw the costs as bars and show how they are estimated", "以条形图显示费用及预估规则")
COSTS_ARGUMENT: Final = Text(
    "forecast: show what the current month will cost; export: print the costs of a month as CSV",
    "forecast：显示本月预计费用；export：以 CSV 输出某月的费用",
)
MONTH_FLAG: Final = Text("the month to export, such as 2026-10", "要导出的月份，如 2026-10")
EXPORT_FORMAT_FLAG: Final = Text(
    "columns of the export: those of FOCUS 1.2, or fewer of our own (default: focus)",
    "导出的列：FOCUS 1.2 的列，或较少的自有列（默认 focus）",
)
FROM_DAY_FLAG: Final = Text(
    "show the costs from this day on, such as 2026-11-01 (default: the first of the month)",
    "显示自此日起的费用，如 2026-11-01（默认当月一日）",
)
TO_DAY_FLAG: Final = Text("show the costs up to this day (default: today)", "显示至此日的费用（默认今天）")
BY_FLAG: Final = Text("group the costs of a period (default: kind)", "时间段内费用的汇总方式（默认 kind）")
ONLY_KIND_FLAG: Final = Text("only costs of this kind, in a period", "只显示此类资源在时间段内的费用")
ONLY_NODE_FLAG: Final = Text("only costs on this node, in a period", "只显示此节点在时间段内的费用")
WATCH_FLAG: Final = Text(
    "refresh every SECONDS (default: 5) until Ctrl-C; with --output json, print one line each time",
    "每隔若干秒重新显示（默认 5），按 Ctrl-C 结束；与 --output json 同用时每次输出一行",
)
DOMAIN_ID_ARGUMENT: Final = Text("domain ID", "域名 ID")
ACTION_ARGUMENT: Final = Text("action name, such as GetNews", "操作名，如 GetNews")
FIELDS_ARGUMENT: Final = Text(
    "request field: name=text, or name:=JSON for other types",
    "请求字段：name=文本，或 name:=JSON 以传其他类型",
)
ESTIMATE_FILE_ARGUMENT: Final = Text(
    "items as JSON, or a plan from terraform show -json; - for standard input",
    "JSON 格式的资源列表，或 terraform show -json 的计划；- 表示标准输入",
)
FLAVOR_FLAG: Final = Text("estimate instances of this flavor, by ID or name", "估算此主机配置（ID 或名称）的云主机")
VOLUME_FLAG: Final = Text("estimate volumes of this size and type", "估算此容量与类型的云硬盘")
COUNT_FLAG: Final = Text("how many (default: 1)", "数量（默认 1）")
NODE_FLAG: Final = Text("the node on which all of them are to run", "全部资源所在的节点")
HOURS_FLAG: Final = Text("also show the cost of this many hours", "同时显示这么多小时的费用")

# Invalid input

ESTIMATE_NEEDS_ONE: Final = Text("give a FILE, or --flavor or --volume", "请给出 FILE，或者 --flavor 或 --volume")
NOT_JSON: Final = Text("not JSON", "不是 JSON")
UNKNOWN_FIELD: Final = Text("{place}: unknown field '{name}'", "{place}：没有字段“{name}”")
INVALID_PLAN: Final = Text("{file}: not a Terraform plan", "{file}：不是 Terraform 计划")
INVALID_ESTIMATE_FILE: Final = Text(
    "{file}: must be a list of items, as in GetEstimate, or a Terraform plan",
    "{file}：须为 GetEstimate 的资源列表，或 Terraform 计划",
)
INVALID_FIELD: Final = Text(
    "{given}: must be name=text, or name:=JSON for other types", "{given}：须为 name=文本，或 name:=JSON"
)
DUPLICATE_FIELD: Final = Text("{name}: given twice", "{name}：重复给出")
INVALID_JSON: Final = Text("{name}: the value after := is not valid JSON", "{name}：:= 之后不是 JSON")
PLOT_NEEDS_TABLE: Final = Text(
    "--plot requires --output table, without --query or --columns",
    "--plot 为图形，只能与 --output table 同用，不能与 --query 或 --columns 同用",
)

# Sessions

LOGGED_IN: Final = Text("logged in as {username} at {url}", "已登录：{username}，{url}")
OTHER_DEFAULT_ACCOUNT: Final = Text(
    "note: without flags, commands use {username} at {url} (set by {places})",
    "但不带选项的命令所指为其他账户：{username}，{url}；依据：{places}",
)
LOGGED_OUT: Final = Text("logged out: {username} at {url}", "已退出：{username}，{url}")
NOT_LOGGED_IN: Final = Text("not logged in at {url}", "{url} 并无登录")
LOGOUT_FAILED: Final = Text(
    "local session removed, but server-side logout failed: {problem}",
    "会话已在本机删除，但未能告知控制台：{problem}",
)

# Output

ID: Final = Text("ID", "ID")
NAME: Final = Text("name", "名称")
TYPE: Final = Text("type", "类型")
URL: Final = Text("URL", "URL")
DATE: Final = Text("date", "发布时间")
TITLE: Final = Text("title", "标题")
ACTION: Final = Text("action", "操作")
EXTENSION: Final = Text("extension", "扩展")
PURPOSE: Final = Text("purpose", "用途")
NO_ACTIONS: Final = Text("{url} does not list its actions", "{url} 未列出其操作")
YES: Final = Text("yes", "是")
NO: Final = Text("no", "否")

DOMAIN_ID: Final = Text("domain ID", "域名 ID")
DOMAIN_NAME: Final = Text("domain name", "域名")
COMMENT: Final = Text("comment", "备注")
SERVICE_AREAS: Final = Text("service areas", "加速区域")
SERVICE_TYPE: Final = Text("service type", "服务类型")
ACCELERATION: Final = Text("acceleration", "加速")
ENABLED: Final = Text("enabled", "已启用")
DISABLED: Final = Text("disabled", "已停用")
STATUS: Final = Text("deployment status", "部署状态")
ORIGIN_IPS: Final = Text("origin IP addresses", "源站 IP")
ORIGIN_NAME: Final = Text("origin domain", "源站域名")
ADVANCED_ORIGIN: Final = Text("advanced origin settings", "高级回源配置")
CACHE_BEHAVIORS: Final = Text("cache behaviors", "缓存行为")
VISIT_RULES: Final = Text("access control rules", "访问控制规则")
QUERY_STRING: Final = Text("query string settings", "查询字符串设置")

CORES: Final = Text("cores", "核数")
RAM: Final = Text("RAM", "内存")
SYSTEM_DISK: Final = Text("system disk", "系统盘")
RAM_WITH_CORES: Final = Text("RAM with {cores} cores: {sizes} {unit}", "{cores} 核可搭配的内存：{sizes} {unit}")
RAM_WITH_ONE_CORE: Final = Text("RAM with 1 core: {sizes} {unit}", "1 核可搭配的内存：{sizes} {unit}")
CORES_NOT_OFFERED: Final = Text(
    "--vcpus {vcpus}: not offered; available: {offered}", "--vcpus {vcpus}：不提供；可选 {offered}"
)
RAM_NOT_OFFERED: Final = Text("--ram {ram}: not offered; available: {offered}", "--ram {ram}：不提供；可选 {offered}")
RAM_NOT_WITH_CORES: Final = Text(
    "--ram {ram}: not offered with {vcpus} cores; available: {offered}",
    "--ram {ram}：不能搭配 {vcpus} 核；可选 {offered}",
)

QUOTA: Final = Text("quota", "配额")
USED: Final = Text("used", "已用")
LIMIT: Final = Text("limit", "上限")
FREE: Final = Text("free", "剩余")
UNLIMITED: Final = Text("unlimited", "不限")
QUOTAS: Final = {
    "instances": Text("instances", "云主机"),
    "cores": Text("cores", "核数"),
    "ram": Text("RAM", "内存"),
    "volumes": Text("volumes", "云硬盘"),
    "gigabytes": Text("volume and snapshot storage", "云硬盘与快照容量"),
    "snapshots": Text("snapshots", "快照"),
    "floating_ips": Text("floating IPs", "浮动 IP"),
    "security_groups": Text("security groups", "安全组"),
    "security_group_rules": Text("rules per security group", "每个安全组的规则"),
    "keypairs": Text("key pairs", "密钥对"),
    "personality": Text("injected files per instance", "每台云主机的注入文件"),
    "personality_size": Text("size of an injected file", "注入文件大小"),
    "image_meta": Text("metadata items per image", "每个镜像的元数据项"),
    "server_meta": Text("metadata items per instance", "每台云主机的元数据项"),
}

KIND: Final = Text("kind", "种类")
KINDS: Final = {
    "instance": Text("instances", "云主机"),
    "image": Text("images", "镜像"),
    "loadbalance": Text("load balancers", "负载均衡"),
    "volume": Text("volumes", "云硬盘"),
    "total": Text("total", "合计"),
}
PRICED_UNIT: Final = Text("unit", "计价单位")
PRICED_UNITS: Final = {
    "each": Text("each", "每个"),
    "vcpu": Text("per core", "每核"),
    "ram_gb": Text("per GB of RAM", "每 GB 内存"),
    "gb": Text("per GB", "每 GB"),
}
NODE: Final = Text("node", "节点")
ALL: Final = Text("all", "全部")
PRICE_PER_HOUR: Final = Text("price per hour", "每小时价格")
IN_FORCE_FROM: Final = Text("in force from", "生效时间")
VALID_UNTIL: Final = Text("until", "失效时间")
ITEM: Final = Text("item", "资源")
COUNT: Final = Text("count", "数量")
NEEDED: Final = Text("needed", "需要")
LACKING: Final = Text("over by", "缺口")
FITS: Final = Text("The quotas allow this.", "配额足够。")
DOES_NOT_FIT: Final = Text("The quotas do not allow this. Over quota: {lacking}.", "配额不足：{lacking}。")
COMMA: Final = Text(", ", "，")
LACKS: Final = Text("{quota} by {amount}", "{quota}超出 {amount}")
PRICE_MISSING: Final = Text("Some of it has no price.", "部分资源没有价格。")
COST_OF_HOURS: Final = Text("Cost of {hours} hours: {cost}.", "{hours} 小时的费用：{cost}。")
COST_OF_ONE_HOUR: Final = Text("Cost of 1 hour: {cost}.", "1 小时的费用：{cost}。")
UNKNOWN_NODE: Final = Text(
    "--node: there is no node '{name}'; nodes with prices of their own: {known}",
    "--node：没有节点“{name}”；有单独价格的节点：{known}",
)
UNKNOWN_FLAVOR: Final = Text(
    "--flavor: there is no flavor '{name}'; cloudconsole flavors lists them",
    "--flavor：没有主机配置“{name}”；cloudconsole flavors 可列出全部主机配置",
)
PERIOD_TOO_LONG: Final = Text(
    "--from must not be after --to, and a period has at most {days} days",
    "--from 不得晚于 --to，且时间段最多 {days} 天",
)
NOTHING_TO_ESTIMATE: Final = Text("nothing to estimate", "没有需要估算的资源")
TOTAL: Final = Text("total", "合计")
TOTAL_PER_PERIOD: Final = Text("total, {period}: {amount}", "{period}合计：{amount}")
HOUR: Final = Text("hour", "每小时")
DAY: Final = Text("day", "每天")
MONTH: Final = Text("month", "每月")
YEAR: Final = Text("year", "每年")
COST: Final = Text("cost", "费用")
ONE_DAY: Final = Text("day", "日期")
ONE_MONTH: Final = Text("month", "月份")
SO_FAR: Final = Text("so far", "已产生费用")
REST_OF_MONTH: Final = Text("rest of the month", "本月剩余")
HOURS_LEFT: Final = Text("hours left", "剩余小时")
NO_COSTS_IN_PERIOD: Final = Text("no recorded costs in this period", "此时间段没有费用记录")
NO_DATA_BETWEEN: Final = Text("no data from {start} to {end}", "{start} 至 {end} 没有数据")
INCOMPLETE_MONTH: Final = Text("part of this month was not recorded", "本月部分时间没有记录")
ONE_VIEW_OF_COSTS: Final = Text(
    "use only one of: forecast, export, --plot, and a period (--from, --to, --by, --kind, --node)",
    "forecast、export、--plot 与时间段（--from、--to、--by、--kind、--node）只能选用一种",
)
EXPORT_NEEDS_MONTH: Final = Text("export requires --month", "export 需要 --month")
ONLY_WITH_EXPORT: Final = Text("--month and --format require export", "--month 和 --format 只能与 export 同用")
EXPORT_IS_CSV: Final = Text(
    "export prints CSV only: remove --output, --query and --columns",
    "export 只输出 CSV：请去掉 --output、--query 和 --columns",
)
MUST_BE_MONTH: Final = Text("must be a month such as 2026-10", "必须是月份，如 2026-10")
MUST_BE_DAY: Final = Text("must be a day such as 2026-11-01", "必须是日期，如 2026-11-01")
NO_COSTS: Final = Text("no costs in the current hour", "本小时没有费用")
ESTIMATE_RULE: Final = Text(
    "estimated from the current hour: day = hour × 24, month = day × {month_days}, year = day × 365",
    "按当前小时预估：每天 = 每小时 × 24，每月 = 每天 × {month_days}，每年 = 每天 × 365",
)
NO_ESTIMATE_RULE: Final = Text("the console does not report how it estimates costs", "控制台未说明预估规则")

SETTING: Final = Text("setting", "项目")
VALUE: Final = Text("value", "值")
SOURCE: Final = Text("from", "来源")
PROFILE: Final = Text("profile", "配置")
ADDRESS: Final = Text("URL", "地址")
CA_FILE: Final = Text("CA file", "CA 证书文件")
USERNAME: Final = Text("username", "用户名")
REGION: Final = Text("region", "区域")
PROJECT: Final = Text("project", "项目")
DISCOVERED: Final = Text("the console", "控制台")
SESSION: Final = Text("session", "会话")
STATES: Final = {
    "live": Text("live", "有效"),
    "ended": Text("ended", "已结束"),
    "none": Text("none", "无"),
    "unknown": Text("unknown, as the console did not say", "未知，控制台未能告知"),
}
