"""Everything that the tenant's commands say, in both languages."""

from typing import Final

from cloudconsole.spec.i18n import Text

# The command line as such

TOP: Final = Text("Cloud Console: the programmatic interface of a cloud.", "Cloud Console：云平台的编程接口。")
VERSION_FLAG: Final = Text("show the version and exit", "显示版本并退出")
COMMANDS: Final = Text("commands", "命令")
COMMAND: Final = Text("COMMAND", "命令")
NOT_EXPECTED: Final = Text("{given}: is not expected here", "{given}：此处不应出现")
SEE_HELP: Final = Text("{problem}; see {command} --help", "{problem}；参见 {command} --help")
NO_SUCH_COMMAND: Final = Text("there is no command '{given}'", "没有命令“{given}”")
NO_SUCH_FLAG: Final = Text("there is no flag {flag} here", "此处没有选项 {flag}")
DOES_THAT: Final = Text(": {instead} does that", "：请用 {instead}")
DID_YOU_MEAN: Final = Text(" (did you mean {near}?)", "（是否想用 {near}？）")
FLAGS_STAND_BEHIND: Final = Text(": a command's flags stand behind it", "：选项应写在命令之后")

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
"""What Python's own module says, in Chinese."""

# Flags and arguments

OF_THE_CALL: Final = Text("which console, and how it is called", "控制台与调用方式")
PROFILE_FLAG: Final = Text(
    "profile of the configuration file (or set CLOUDCONSOLE_PROFILE)",
    "配置文件中的配置名（或设置 CLOUDCONSOLE_PROFILE）",
)
URL_FLAG: Final = Text("the console's address (or set CLOUDCONSOLE_URL)", "控制台地址（或设置 CLOUDCONSOLE_URL）")
REGION_FLAG: Final = Text(
    "identity endpoint to log in at (or set CLOUDCONSOLE_REGION or OS_AUTH_URL); may be left out where the console "
    "offers just one",
    "登录所用的认证地址（或设置 CLOUDCONSOLE_REGION 或 OS_AUTH_URL）；控制台只提供一个时可省略",
)
USERNAME_FLAG: Final = Text(
    "name of the account (or set CLOUDCONSOLE_USERNAME or OS_USERNAME)",
    "账户名（或设置 CLOUDCONSOLE_USERNAME 或 OS_USERNAME）",
)
PASSWORD_FILE_FLAG: Final = Text(
    "file with the password, - for standard input (or set CLOUDCONSOLE_PASSWORD or OS_PASSWORD; else it is asked for)",
    "密码文件，- 为标准输入（或设置 CLOUDCONSOLE_PASSWORD 或 OS_PASSWORD；否则会提示输入）",
)
CA_FILE_FLAG: Final = Text(
    "certificates to trust, in PEM, instead of the system's", "所信任的证书（PEM），代替系统证书"
)
INSECURE_FLAG: Final = Text(
    "do not check the console's certificate (for trying things out)", "不检查控制台的证书（仅供试用）"
)
TIMEOUT_FLAG: Final = Text(
    "seconds that the call may take, with its repeats (default: 30)", "调用的最长秒数，含重试（默认 30）"
)
OUTPUT_FLAG: Final = Text(
    "form of the output: a table, the data as JSON, or CSV (default: table)",
    "输出形式：表格、JSON 数据或 CSV（默认 table）",
)
JSON_FLAG: Final = Text("form of the output, which is always JSON", "输出形式，只有 JSON")
LANG_FLAG: Final = Text(
    "language: English or Chinese (default: the locale's)", "语言：英文或中文（默认依系统区域设置）"
)
VERBOSE_FLAG: Final = Text("tell the details of an error", "显示错误详情")
VCPUS_FLAG: Final = Text("only those with so many cores", "只显示此核数的配置")
RAM_FLAG: Final = Text(
    "only those with so much RAM, in the console's unit (MB)", "只显示此内存的配置，单位同控制台（MB）"
)
PLOT_FLAG: Final = Text("draw the costs as bars, with the rule of the estimate", "以条形图显示费用及预估规则")
WATCH_FLAG: Final = Text(
    "draw it anew every so many seconds (default: 5), until Ctrl-C", "每隔若干秒重新显示（默认 5），按 Ctrl-C 结束"
)
DOMAIN_ID_ARGUMENT: Final = Text("id of the domain", "域名 id")
ACTION_ARGUMENT: Final = Text("name of the action, such as GetNews", "操作名，如 GetNews")
FIELDS_ARGUMENT: Final = Text(
    "a field of the request: name=text, or name:=JSON for other values",
    "请求字段：name=文本，或 name:=JSON 以传其他类型",
)
SHELL_ARGUMENT: Final = Text("bash, zsh or fish", "bash、zsh 或 fish")

# What cannot be used

MUST_BE_ADDRESS: Final = Text(
    "must be an address such as https://console.example.com, without user, query or fragment",
    "须为形如 https://console.example.com 的地址，不含用户、查询或片段",
)
MUST_BE_SECONDS: Final = Text("must be a number of seconds above 0, a day at the most", "须为大于 0 的秒数，最多一天")
MUST_BE_INTERVAL: Final = Text("must be {least} seconds or more", "须不小于 {least} 秒")
MUST_BE_WHOLE: Final = Text("must be a whole number from 1 on", "须为不小于 1 的整数")
MUST_BE_TEXT: Final = Text("must be text in quotes, and not empty", "须为带引号的非空文本")
MUST_BE_TABLES: Final = Text("must be tables such as [profiles.work]", "须为形如 [profiles.work] 的表")
MUST_BE_ONE_OF: Final = Text("must be one of {choices}", "须为以下之一：{choices}")
NO_SUCH_KEY: Final = Text("there is no such key; there are: {known}", "没有此键；可用的有：{known}")
NO_SUCH_PROFILE: Final = Text(
    "there is no profile '{name}' in {file}; there are: {known}", "{file} 中没有配置“{name}”；可用的有：{known}"
)
NO_SUCH_DEFAULT: Final = Text("must be the name of a profile; there are: {known}", "须为配置名；可用的有：{known}")
NO_PASSWORD_HERE: Final = Text(
    "no password is kept in this file: name a file with password_file, or set CLOUDCONSOLE_PASSWORD",
    "此文件不存放密码：请用 password_file 指定文件，或设置 CLOUDCONSOLE_PASSWORD",
)
PASSWORD_FOR_WHOM: Final = Text(
    "is for one account: name its url and username in the same profile",
    "只用于一个账户：请在同一配置中给出 url 和 username",
)
NO_SUCH_HOME: Final = Text("there is no such user's home folder", "没有该用户的主目录")
NOT_UTF8_GIVEN: Final = Text("an argument or a variable is not UTF-8 text", "某个参数或变量不是 UTF-8 文本")
NOT_UTF8: Final = Text("{file}: this is not UTF-8 text", "{file}：不是 UTF-8 文本")
NOT_A_FILE: Final = Text("{file}: this is not a regular file", "{file}：不是普通文件")
WRITABLE_BY_OTHERS: Final = Text(
    "{file}: other users can write this file; fix it with: {command}", "{file}：其他用户可写此文件；请执行：{command}"
)
OWNED_BY_ANOTHER: Final = Text(
    "{file}: another user owns this file; fix it as root with: {command}",
    "{file}：此文件属于其他用户；请以 root 执行：{command}",
)
NOT_TOML: Final = Text("{file}: this is not TOML: {problem}", "{file}：不是 TOML：{problem}")
NOT_A_CERTIFICATE: Final = Text("{file}: there is no certificate in it, in PEM", "{file}：其中没有 PEM 证书")
NO_TRUST: Final = Text(
    "what https needs cannot be read: {why} (look at SSL_CERT_FILE, SSL_CERT_DIR and SSLKEYLOGFILE)",
    "无法读取 https 所需文件：{why}（请检查 SSL_CERT_FILE、SSL_CERT_DIR 和 SSLKEYLOGFILE）",
)
NOT_A_PROXY: Final = Text(
    "a proxy cannot be used (look at http_proxy, https_proxy and all_proxy)",
    "代理不可用（请检查 http_proxy、https_proxy 和 all_proxy）",
)
NOT_A_FIELD: Final = Text(
    "{given}: must be name=text, or name:=JSON for other values", "{given}：须为 name=文本，或 name:=JSON"
)
FIELD_TWICE: Final = Text("{name}: is given twice", "{name}：重复给出")
NOT_JSON: Final = Text("{name}: what follows := is not JSON", "{name}：:= 之后不是 JSON")
PLOT_IS_DRAWN: Final = Text(
    "--plot draws: it goes with --output table only", "--plot 为图形，只能与 --output table 同用"
)
WATCH_NEEDS_TERMINAL: Final = Text(
    "--watch draws on a terminal: it goes neither with a pipe, nor TERM=dumb, nor another --output than table",
    "--watch 在终端上重绘，不能用于管道或 TERM=dumb，也只能与 --output table 同用",
)

# Who is meant

NO_CONSOLE: Final = Text(
    "no console is named: give --url, set CLOUDCONSOLE_URL, choose a profile, or log in first",
    "未指定控制台：请用 --url、设置 CLOUDCONSOLE_URL、选择配置，或先登录",
)
NO_USERNAME: Final = Text(
    "no account is named: give --username, or set CLOUDCONSOLE_USERNAME",
    "未指定账户：请用 --username 或设置 CLOUDCONSOLE_USERNAME",
)
NO_PASSWORD: Final = Text(
    "no password for {username} at {url}: type it at a terminal, name a file with --password-file, or set "
    "CLOUDCONSOLE_PASSWORD",
    "没有 {username} 在 {url} 的密码：请在终端输入、用 --password-file 指定文件，或设置 CLOUDCONSOLE_PASSWORD",
)
PASSED_OVER: Final = Text(
    "; passed over, as it may be of another account: {places}", "；以下密码可能属于其他账户，未使用：{places}"
)
REGION_NEEDED: Final = Text("--region is needed; the console offers: {regions}", "需要 --region；控制台提供：{regions}")
USERNAME_PROMPT: Final = Text("Username at {url}: ", "{url} 的账户名：")
PASSWORD_PROMPT: Final = Text("Password of {username} at {url}: ", "{username} 在 {url} 的密码：")
NO_PASSWORD_TYPED: Final = Text("no password was given", "未输入密码")
PASSWORD_NOT_UTF8: Final = Text("{place}: {file}: this is not UTF-8 text", "{place}：{file}：不是 UTF-8 文本")
NOT_A_PASSWORD: Final = Text(
    "{place}: {file}: must hold a password, in one line, and nothing more", "{place}：{file}：须只含一行密码"
)
A_FLAG: Final = Text("a flag", "命令行选项")
A_PROFILE: Final = Text("profile {name}", "配置 {name}")
LAST_LOGIN: Final = Text("the last login", "上次登录")

# Sessions

LOGGED_IN: Final = Text("logged in as {username} at {url}", "已登录：{username}，{url}")
LATER_ANOTHER: Final = Text(
    "commands without flags mean another account, though: {username} at {url}; so say {places}",
    "但不带选项的命令所指为其他账户：{username}，{url}；依据：{places}",
)
LOGGED_OUT: Final = Text("logged out: {username} at {url}", "已退出：{username}，{url}")
SESSION_ENDED: Final = Text("the session of {username} at {url} has ended", "{username} 在 {url} 的会话已结束")
NOT_LOGGED_IN: Final = Text("nobody was logged in at {url}", "{url} 并无登录")
FORGOTTEN_HERE: Final = Text(
    "the session is forgotten here, but the console could not be told: {problem}",
    "会话已在本机删除，但未能告知控制台：{problem}",
)
CANNOT_KEEP_SESSION: Final = Text("the session cannot be kept: {file}: {why}", "无法保留会话：{file}：{why}")
CANNOT_READ_SESSIONS: Final = Text("no kept session is used: {file}: {why}", "未使用保留的会话：{file}：{why}")
SESSIONS_NOT_OURS: Final = Text(
    "no kept session is used: {file} is not a file that only you can read; the next login makes it anew",
    "未使用保留的会话：{file} 不是仅您可读的文件；下次登录将重新创建",
)
FOLDER_OF_ANOTHER: Final = Text(
    "no session is kept: the folder {folder} belongs to another user", "不保留会话：文件夹 {folder} 属于其他用户"
)
FOLDER_IS_LINK: Final = Text(
    "no session is kept: {folder} is a symbolic link, not a folder", "不保留会话：{folder} 是符号链接而非文件夹"
)

# What went wrong

CANNOT_CONNECT: Final = Text("{message}", "无法连接：{message}")
UNLIKE_THE_INTERFACE: Final = Text("{message}", "回复不符合接口约定：{message}")
DETAILS: Final = {
    "code": Text("code", "代码"),
    "error": Text("error", "错误标识"),
    "field": Text("field", "字段"),
    "request_id": Text("request id", "请求编号"),
    "address": Text("address", "地址"),
    "cause": Text("cause", "原因"),
}
RETRY_AFTER: Final = Text("{message} (again in {seconds} s)", "{message}（{seconds} 秒后再试）")

A_FAULT: Final = Text(
    "this is a fault of cloudconsole: {fault} ({variable}=1 tells where)",
    "这是 cloudconsole 自身的错误：{fault}（{variable}=1 可显示出处）",
)

# What is shown

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
    "--vcpus {vcpus}: is not offered; there are {offered}", "--vcpus {vcpus}：不提供；可选 {offered}"
)
RAM_NOT_OFFERED: Final = Text("--ram {ram}: is not offered; there are {offered}", "--ram {ram}：不提供；可选 {offered}")
RAM_NOT_WITH_CORES: Final = Text(
    "--ram {ram}: is not offered with {vcpus} cores; there are {offered}",
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
WATCHED: Final = Text("{username} at {url}, {time}; Ctrl-C ends", "{username}，{url}，{time}；按 Ctrl-C 结束")

KIND: Final = Text("kind", "资源")
KINDS: Final = {
    "instance": Text("cloud hosts", "云主机"),
    "image": Text("images", "镜像"),
    "loadbalance": Text("load balancers", "负载均衡"),
    "volume": Text("cloud disks", "云硬盘"),
    "total": Text("total", "合计"),
}
TOTAL: Final = Text("total", "合计")
HOUR: Final = Text("hour", "每小时")
DAY: Final = Text("day", "每天")
MONTH: Final = Text("month", "每月")
YEAR: Final = Text("year", "每年")
NO_COSTS: Final = Text("nothing costs anything this hour", "本小时没有费用")
RULE: Final = Text(
    "estimated from the current hour: day = hour × 24, month = day × {month_days}, year = day × 365",
    "按当前小时预估：每天 = 每小时 × 24，每月 = 每天 × {month_days}，每年 = 每天 × 365",
)
NO_RULE: Final = Text("the console does not say how it estimates", "控制台未说明预估规则")

SETTING: Final = Text("setting", "项目")
VALUE: Final = Text("value", "值")
SAID_BY: Final = Text("from", "来源")
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
