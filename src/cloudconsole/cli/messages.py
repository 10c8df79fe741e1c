"""Messages and help texts of the tenant commands, in English and Chinese."""

from typing import Final

from cloudconsole.spec.i18n import Text

# Command line

DESCRIPTION: Final = Text("Cloud Console: a programmatic interface to a cloud.", "Cloud Console：云平台的编程接口。")
VERSION_FLAG: Final = Text("show the version and exit", "显示版本并退出")
COMMANDS: Final = Text("commands", "命令")
COMMAND: Final = Text("COMMAND", "命令")
UNEXPECTED_ARGUMENT: Final = Text("unexpected argument: {given}", "{given}：此处不应出现")
SEE_HELP: Final = Text("{problem}; see {command} --help", "{problem}；参见 {command} --help")
UNKNOWN_COMMAND: Final = Text("unknown command '{given}'", "没有命令“{given}”")
UNKNOWN_OPTION: Final = Text("unknown option {flag}", "此处没有选项 {flag}")
USE_INSTEAD: Final = Text(": use {instead}", "：请用 {instead}")
DID_YOU_MEAN: Final = Text(" (did you mean {near}?)", "（是否想用 {near}？）")
OPTIONS_AFTER_COMMAND: Final = Text(": put a command's options after the command", "：选项应写在命令之后")

ARGPARSE: Final = {
    "usage: ": "用法：",
    "options": "选项",
    "positional arguments": "参数",
    "show this help message and exit": "显示本帮助并退出",
    "expected one argument": "需要一个值",
    "expected at most one argument": "最多一个值",
    "expected at least one argument": "至少需要一个值",
    "the following arguments are required: %s": "缺少参数：%s",
    "argument %(argument_name)s: %(message)s": "%(argument_name)s：%(message)s",
    "invalid choice: %(value)r (choose from %(choices)s)": "%(value)r 不可用（可选：%(choices)s）",
    "invalid %(type)s value: %(value)r": "无效的 %(type)s 值：%(value)r",
    "ignored explicit argument %r": "不应带值：%r",
    "not allowed with argument %s": "不能与 %s 同时使用",
}
"""Chinese translations of argparse's messages."""

# Flags and arguments

CONNECTION_OPTIONS: Final = Text("connection options", "控制台与调用方式")
PROFILE_FLAG: Final = Text(
    "profile in the configuration file (or set CLOUDCONSOLE_PROFILE)",
    "配置文件中的配置名（或设置 CLOUDCONSOLE_PROFILE）",
)
URL_FLAG: Final = Text("console URL (or set CLOUDCONSOLE_URL)", "控制台地址（或设置 CLOUDCONSOLE_URL）")
REGION_FLAG: Final = Text(
    "identity endpoint to log in at (or set CLOUDCONSOLE_REGION or OS_AUTH_URL); optional if the "
    "console offers only one",
    "登录所用的认证地址（或设置 CLOUDCONSOLE_REGION 或 OS_AUTH_URL）；控制台只提供一个时可省略",
)
USERNAME_FLAG: Final = Text(
    "account name (or set CLOUDCONSOLE_USERNAME or OS_USERNAME)",
    "账户名（或设置 CLOUDCONSOLE_USERNAME 或 OS_USERNAME）",
)
PASSWORD_FILE_FLAG: Final = Text(
    "file containing the password, - for standard input (or set CLOUDCONSOLE_PASSWORD or OS_PASSWORD; default: prompt)",
    "密码文件，- 为标准输入（或设置 CLOUDCONSOLE_PASSWORD 或 OS_PASSWORD；否则会提示输入）",
)
CA_FILE_FLAG: Final = Text(
    "PEM file of CA certificates to trust instead of the system's", "所信任的证书（PEM），代替系统证书"
)
INSECURE_FLAG: Final = Text(
    "do not verify the console's TLS certificate (testing only)", "不检查控制台的证书（仅供试用）"
)
TIMEOUT_FLAG: Final = Text(
    "maximum seconds for the call, including retries (default: 30)", "调用的最长秒数，含重试（默认 30）"
)
OUTPUT_FLAG: Final = Text(
    "output format: a table, the data as JSON, CSV, or a Markdown table (default: table)",
    "输出形式：表格、JSON 数据、CSV 或 Markdown 表格（默认 table）",
)
JSON_FLAG: Final = Text("output format (JSON only)", "输出形式，只有 JSON")
LANG_FLAG: Final = Text(
    "language: English or Chinese (default: from the locale)", "语言：英文或中文（默认依系统区域设置）"
)
VERBOSE_FLAG: Final = Text("show error details", "显示错误详情")
VCPUS_FLAG: Final = Text("only flavors with this number of cores", "只显示此核数的配置")
RAM_FLAG: Final = Text(
    "only flavors with this much RAM, in the console's unit (MB)", "只显示此内存的配置，单位同控制台（MB）"
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
    "refresh every SECONDS (default: 5) until Ctrl-C", "每隔若干秒重新显示（默认 5），按 Ctrl-C 结束"
)
DOMAIN_ID_ARGUMENT: Final = Text("domain ID", "域名 id")
ACTION_ARGUMENT: Final = Text("action name, such as GetNews", "操作名，如 GetNews")
FIELDS_ARGUMENT: Final = Text(
    "request field: name=text, or name:=JSON for other types",
    "请求字段：name=文本，或 name:=JSON 以传其他类型",
)
ESTIMATE_FILE_ARGUMENT: Final = Text(
    "items as JSON, or a plan from terraform show -json; - for standard input",
    "JSON 格式的资源列表，或 terraform show -json 的计划；- 表示标准输入",
)
FLAVOR_FLAG: Final = Text("estimate cloud hosts of this flavor, by ID or name", "估算此配置（id 或名称）的云主机")
VOLUME_FLAG: Final = Text("estimate cloud disks of this size and type", "估算此容量与类型的云硬盘")
COUNT_FLAG: Final = Text("how many (default: 1)", "数量（默认 1）")
NODE_FLAG: Final = Text("the node on which all of them are to run", "全部资源所在的节点")
HOURS_FLAG: Final = Text("also show the cost of this many hours", "同时显示这么多小时的费用")
SHELL_ARGUMENT: Final = Text("bash, zsh or fish", "bash、zsh 或 fish")

# Invalid input

MUST_BE_URL: Final = Text(
    "must be a URL such as https://console.example.com, without user, query or fragment",
    "须为形如 https://console.example.com 的地址，不含用户、查询或片段",
)
MUST_BE_SECONDS: Final = Text(
    "must be a number of seconds greater than 0 and at most one day", "须为大于 0 的秒数，最多一天"
)
MUST_BE_INTERVAL: Final = Text("must be at least {least} seconds", "须不小于 {least} 秒")
MUST_BE_INTEGER: Final = Text("must be an integer of at least 1", "须为不小于 1 的整数")
MUST_BE_TEXT: Final = Text("must be a non-empty string in quotes", "须为带引号的非空文本")
MUST_BE_TABLES: Final = Text("must be tables such as [profiles.work]", "须为形如 [profiles.work] 的表")
MUST_BE_ONE_OF: Final = Text("must be one of {choices}", "须为以下之一：{choices}")
UNKNOWN_KEY: Final = Text("unknown key; valid keys: {known}", "没有此键；可用的有：{known}")
ESTIMATE_NEEDS_ONE: Final = Text("give a FILE, or --flavor or --volume", "请给出 FILE，或者 --flavor 或 --volume")
NOT_JSON: Final = Text("not JSON", "不是 JSON")
INVALID_PLAN: Final = Text("{file}: not a Terraform plan", "{file}：不是 Terraform 计划")
INVALID_ESTIMATE_FILE: Final = Text(
    "{file}: must be a list of items, as in GetEstimate, or a Terraform plan",
    "{file}：须为 GetEstimate 的资源列表，或 Terraform 计划",
)
UNKNOWN_PROFILE: Final = Text(
    "no profile '{name}' in {file}; available: {known}", "{file} 中没有配置“{name}”；可用的有：{known}"
)
UNKNOWN_DEFAULT: Final = Text("must be the name of a profile; available: {known}", "须为配置名；可用的有：{known}")
PASSWORD_NOT_ALLOWED: Final = Text(
    "passwords are not allowed in this file: use password_file, or set CLOUDCONSOLE_PASSWORD",
    "此文件不存放密码：请用 password_file 指定文件，或设置 CLOUDCONSOLE_PASSWORD",
)
PASSWORD_NEEDS_ACCOUNT: Final = Text(
    "belongs to one account: set url and username in the same profile",
    "只用于一个账户：请在同一配置中给出 url 和 username",
)
NO_HOME_DIRECTORY: Final = Text("this user has no home directory", "没有该用户的主目录")
ARGUMENT_NOT_UTF8: Final = Text(
    "an argument or environment variable is not valid UTF-8", "某个参数或变量不是 UTF-8 文本"
)
NOT_UTF8: Final = Text("{file}: not valid UTF-8", "{file}：不是 UTF-8 文本")
NOT_A_FILE: Final = Text("{file}: not a regular file", "{file}：不是普通文件")
WRITABLE_BY_OTHERS: Final = Text(
    "{file}: writable by other users; fix it with: {command}", "{file}：其他用户可写此文件；请执行：{command}"
)
OWNED_BY_ANOTHER: Final = Text(
    "{file}: owned by another user; fix it as root with: {command}",
    "{file}：此文件属于其他用户；请以 root 执行：{command}",
)
NOT_TOML: Final = Text("{file}: invalid TOML: {problem}", "{file}：不是 TOML：{problem}")
NOT_A_CERTIFICATE: Final = Text("{file}: contains no PEM certificate", "{file}：其中没有 PEM 证书")
TLS_SETUP_FAILED: Final = Text(
    "cannot set up TLS: {why} (check SSL_CERT_FILE, SSL_CERT_DIR and SSLKEYLOGFILE)",
    "无法读取 https 所需文件：{why}（请检查 SSL_CERT_FILE、SSL_CERT_DIR 和 SSLKEYLOGFILE）",
)
INVALID_PROXY: Final = Text(
    "invalid proxy (check http_proxy, https_proxy and all_proxy)",
    "代理不可用（请检查 http_proxy、https_proxy 和 all_proxy）",
)
INVALID_FIELD: Final = Text(
    "{given}: must be name=text, or name:=JSON for other types", "{given}：须为 name=文本，或 name:=JSON"
)
DUPLICATE_FIELD: Final = Text("{name}: given twice", "{name}：重复给出")
INVALID_JSON: Final = Text("{name}: the value after := is not valid JSON", "{name}：:= 之后不是 JSON")
PLOT_NEEDS_TABLE: Final = Text("--plot requires --output table", "--plot 为图形，只能与 --output table 同用")
WATCH_NEEDS_TERMINAL: Final = Text(
    "--watch requires a terminal (not a pipe or TERM=dumb) and --output table",
    "--watch 在终端上重绘，不能用于管道或 TERM=dumb，也只能与 --output table 同用",
)

# Account selection

NO_CONSOLE: Final = Text(
    "no console URL: pass --url, set CLOUDCONSOLE_URL, select a profile, or log in first",
    "未指定控制台：请用 --url、设置 CLOUDCONSOLE_URL、选择配置，或先登录",
)
NO_USERNAME: Final = Text(
    "no username: pass --username or set CLOUDCONSOLE_USERNAME",
    "未指定账户：请用 --username 或设置 CLOUDCONSOLE_USERNAME",
)
NO_PASSWORD: Final = Text(
    "no password for {username} at {url}: enter it at a terminal, pass --password-file, or set CLOUDCONSOLE_PASSWORD",
    "没有 {username} 在 {url} 的密码：请在终端输入、用 --password-file 指定文件，或设置 CLOUDCONSOLE_PASSWORD",
)
IGNORED_PASSWORDS: Final = Text(
    "; ignored because it may belong to another account: {places}", "；以下密码可能属于其他账户，未使用：{places}"
)
REGION_REQUIRED: Final = Text(
    "--region is required; the console offers: {regions}", "需要 --region；控制台提供：{regions}"
)
USERNAME_PROMPT: Final = Text("Username at {url}: ", "{url} 的账户名：")
PASSWORD_PROMPT: Final = Text("Password for {username} at {url}: ", "{username} 在 {url} 的密码：")
NO_PASSWORD_ENTERED: Final = Text("no password entered", "未输入密码")
PASSWORD_NOT_UTF8: Final = Text("{place}: {file}: not valid UTF-8", "{place}：{file}：不是 UTF-8 文本")
INVALID_PASSWORD_FILE: Final = Text(
    "{place}: {file}: must contain only the password, on one line", "{place}：{file}：须只含一行密码"
)
COMMAND_LINE: Final = Text("command line", "命令行选项")
NAMED_PROFILE: Final = Text("profile {name}", "配置 {name}")
LAST_LOGIN: Final = Text("the last login", "上次登录")

# Sessions

LOGGED_IN: Final = Text("logged in as {username} at {url}", "已登录：{username}，{url}")
OTHER_DEFAULT_ACCOUNT: Final = Text(
    "note: without flags, commands use {username} at {url} (set by {places})",
    "但不带选项的命令所指为其他账户：{username}，{url}；依据：{places}",
)
LOGGED_OUT: Final = Text("logged out: {username} at {url}", "已退出：{username}，{url}")
SESSION_ENDED: Final = Text("the session of {username} at {url} has ended", "{username} 在 {url} 的会话已结束")
NOT_LOGGED_IN: Final = Text("not logged in at {url}", "{url} 并无登录")
LOGOUT_FAILED: Final = Text(
    "local session removed, but server-side logout failed: {problem}",
    "会话已在本机删除，但未能告知控制台：{problem}",
)
CANNOT_SAVE_SESSION: Final = Text("cannot save the session: {file}: {why}", "无法保留会话：{file}：{why}")
CANNOT_READ_SESSIONS: Final = Text("cannot read saved sessions: {file}: {why}", "未使用保留的会话：{file}：{why}")
SESSIONS_NOT_PRIVATE: Final = Text(
    "ignoring saved sessions: {file} is not a file that only you can read; the next login recreates it",
    "未使用保留的会话：{file} 不是仅您可读的文件；下次登录将重新创建",
)
DIRECTORY_OF_ANOTHER_USER: Final = Text(
    "saved sessions disabled: the directory {directory} belongs to another user",
    "不保留会话：文件夹 {directory} 属于其他用户",
)
DIRECTORY_IS_SYMLINK: Final = Text(
    "saved sessions disabled: {directory} is a symbolic link, not a directory",
    "不保留会话：{directory} 是符号链接而非文件夹",
)

# Errors

CANNOT_CONNECT: Final = Text("{message}", "无法连接：{message}")
PROTOCOL_ERROR: Final = Text("{message}", "回复不符合接口约定：{message}")
DETAILS: Final = {
    "code": Text("code", "代码"),
    "error": Text("error", "错误标识"),
    "field": Text("field", "字段"),
    "request_id": Text("request id", "请求编号"),
    "address": Text("address", "地址"),
    "cause": Text("cause", "原因"),
}
RETRY_AFTER: Final = Text("{message} (retry in {seconds} s)", "{message}（{seconds} 秒后再试）")

INTERNAL_ERROR: Final = Text(
    "internal error: {fault} (set {variable}=1 for a traceback)",
    "这是 cloudconsole 自身的错误：{fault}（{variable}=1 可显示出处）",
)

# Output

ID: Final = Text("id", "id")
NAME: Final = Text("name", "名称")
TYPE: Final = Text("type", "类型")
URL: Final = Text("url", "URL")
DATE: Final = Text("date", "日期")
TITLE: Final = Text("title", "标题")
YES: Final = Text("yes", "是")
NO: Final = Text("no", "否")

DOMAIN_NAME: Final = Text("domain", "域名")
COMMENT: Final = Text("comment", "备注")
SERVICE_AREAS: Final = Text("service areas", "加速区域")
SERVICE_TYPE: Final = Text("service type", "服务类型")
ENABLED: Final = Text("enabled", "已启用")
STATUS: Final = Text("status", "部署状态")
ORIGIN_IPS: Final = Text("origin addresses", "源站 IP")
ORIGIN_NAME: Final = Text("origin domain", "源站域名")
ADVANCED_ORIGIN: Final = Text("advanced origin", "高级回源配置")
CACHE_BEHAVIORS: Final = Text("cache behaviours", "缓存行为")
VISIT_RULES: Final = Text("access rules", "访问控制规则")
QUERY_STRING: Final = Text("query string", "查询串设置")

CORES: Final = Text("cores", "核数")
RAM: Final = Text("RAM", "内存")
SYSTEM_DISK: Final = Text("disk", "系统盘")
RAM_WITH_CORES: Final = Text("RAM with {cores} cores: {sizes} {unit}", "{cores} 核可搭配的内存：{sizes} {unit}")
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
    "instances": Text("cloud hosts", "云主机"),
    "cores": Text("cores", "核数"),
    "ram": Text("RAM", "内存"),
    "volumes": Text("cloud disks", "云硬盘"),
    "gigabytes": Text("disk space", "云硬盘容量"),
    "snapshots": Text("snapshots", "快照"),
    "floating_ips": Text("floating IPs", "浮动 IP"),
    "security_groups": Text("security groups", "安全组"),
    "security_group_rules": Text("rules per security group", "每个安全组的规则"),
    "keypairs": Text("key pairs", "密钥对"),
    "personality": Text("injected files", "注入文件"),
    "personality_size": Text("size of an injected file", "注入文件大小"),
    "image_meta": Text("metadata items of an image", "镜像元数据项"),
    "server_meta": Text("metadata items of a host", "云主机元数据项"),
}
WATCH_HEADING: Final = Text("{username} at {url}, {time}; Ctrl-C to stop", "{username}，{url}，{time}；按 Ctrl-C 结束")

KIND: Final = Text("kind", "资源")
KINDS: Final = {
    "instance": Text("cloud hosts", "云主机"),
    "image": Text("images", "镜像"),
    "loadbalance": Text("load balancers", "负载均衡"),
    "volume": Text("cloud disks", "云硬盘"),
    "total": Text("total", "合计"),
}
PRICED_UNIT: Final = Text("per", "计价单位")
PRICED_UNITS: Final = {
    "each": Text("one", "每个"),
    "vcpu": Text("core", "每核"),
    "ram_gb": Text("GB of RAM", "每 GB 内存"),
    "gb": Text("GB", "每 GB"),
}
NODE: Final = Text("node", "节点")
ALL: Final = Text("all", "全部")
PRICE_PER_HOUR: Final = Text("price per hour", "每小时价格")
VALID_FROM: Final = Text("from", "生效时间")
VALID_UNTIL: Final = Text("until", "失效时间")
WHAT: Final = Text("what", "规格")
COUNT: Final = Text("count", "数量")
NEEDED: Final = Text("needed", "需要")
LACKING: Final = Text("lacking", "缺少")
FITS: Final = Text("The quotas allow this.", "配额足够。")
DOES_NOT_FIT: Final = Text("The quotas do not allow this.", "配额不足。")
PRICE_MISSING: Final = Text("Some of it has no price.", "部分资源没有价格。")
COST_OF_HOURS: Final = Text("Cost of {hours} hours: {cost}.", "{hours} 小时的费用：{cost}。")
NOTHING_TO_ESTIMATE: Final = Text("nothing to estimate", "没有需要估算的资源")
TOTAL: Final = Text("total", "合计")
HOUR: Final = Text("hour", "每小时")
DAY: Final = Text("day", "每天")
MONTH: Final = Text("month", "每月")
YEAR: Final = Text("year", "每年")
COST: Final = Text("cost", "费用")
ONE_DAY: Final = Text("day", "日期")
ONE_MONTH: Final = Text("month", "月份")
SO_FAR: Final = Text("so far", "至今")
REST_OF_MONTH: Final = Text("rest of the month", "本月余下")
HOURS_LEFT: Final = Text("hours left", "余下小时")
NO_COSTS_IN_PERIOD: Final = Text("no recorded costs in this period", "此时间段没有费用记录")
NO_DATA_BETWEEN: Final = Text("no data from {start} to {end}", "{start} 至 {end} 没有数据")
INCOMPLETE_MONTH: Final = Text("part of this month was not recorded", "本月部分时间没有记录")
ONE_VIEW_OF_COSTS: Final = Text(
    "use only one of: forecast, export, --plot, and a period (--from, --to, --by, --kind, --node)",
    "forecast、export、--plot 与时间段（--from、--to、--by、--kind、--node）只能选用一种",
)
EXPORT_NEEDS_MONTH: Final = Text("export requires --month", "export 需要 --month")
ONLY_WITH_EXPORT: Final = Text("--month and --format require export", "--month 和 --format 只能与 export 同用")
EXPORT_IS_CSV: Final = Text("export prints CSV only: remove --output", "export 只输出 CSV：请去掉 --output")
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
ADDRESS: Final = Text("address", "地址")
USERNAME: Final = Text("username", "账户名")
REGION: Final = Text("region", "区域")
SESSION: Final = Text("session", "会话")
STATES: Final = {
    "live": Text("live", "有效"),
    "ended": Text("ended", "已结束"),
    "none": Text("none", "无"),
    "unknown": Text("unknown", "未知"),
}
