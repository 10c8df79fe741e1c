"""Messages and help texts that commands share, in English and Chinese."""

from typing import Final

from cloudconsole.spec.i18n import Text

# Command line

DESCRIPTION: Final = Text("Cloud Console: a programmatic interface to a cloud.", "Cloud Console：云平台的编程接口。")
VERSION_FLAG: Final = Text("show the version and exit", "显示版本并退出")
HELP_COMMAND: Final = Text("show a command's help", "显示某个命令的帮助")
GENERAL_EPILOG: Final = Text(
    "Connection options, such as --url and --output, may precede the command or follow it.",
    "控制台与调用方式的选项（如 --url、--output）可写在命令之前或之后。",
)
COMMANDS: Final = Text("commands", "命令")
COMMAND: Final = Text("COMMAND", "命令")
UNEXPECTED_ARGUMENT: Final = Text("unexpected argument: {given}", "{given}：此处不应出现")
SEE_HELP: Final = Text("{problem}; see {command} --help", "{problem}；参见 {command} --help")
UNKNOWN_COMMAND: Final = Text("unknown command '{given}'", "没有命令“{given}”")
OPTION_NOT_OF_COMMAND: Final = Text("{command} has no option {flag}", "{command} 没有选项 {flag}")
NEEDS_SERVER: Final = Text(
    "'{command}' needs the server: pip install 'cloudconsole[server]'",
    "“{command}”需要服务端：pip install 'cloudconsole[server]'",
)
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
PROJECT_FLAG: Final = Text(
    "name or ID of the OpenStack project (or set CLOUDCONSOLE_PROJECT, OS_PROJECT_ID or OS_PROJECT_NAME; default: the "
    "user's)",
    "OpenStack 项目的名称或 ID（或设置 CLOUDCONSOLE_PROJECT、OS_PROJECT_ID 或 OS_PROJECT_NAME；默认为用户的项目）",
)
USERNAME_FLAG: Final = Text(
    "username (or set CLOUDCONSOLE_USERNAME or OS_USERNAME)",
    "用户名（或设置 CLOUDCONSOLE_USERNAME 或 OS_USERNAME）",
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
    "output format: a table, the data as JSON or YAML, CSV, or a Markdown table (default: table)",
    "输出形式：表格、JSON 或 YAML 数据、CSV 或 Markdown 表格（默认 table）",
)
QUERY_FLAG: Final = Text(
    "print only what this JMESPath expression selects from the data",
    "只输出此 JMESPath 表达式从数据中选出的内容",
)
COLUMNS_FLAG: Final = Text(
    "show only these columns, by their names in CSV or in the table, separated by commas",
    "只显示这些列，用 CSV 或表格中的列名，以逗号分隔",
)
LANG_FLAG: Final = Text(
    "language: English or Chinese (default: from the locale)", "语言：英文或中文（默认依系统区域设置）"
)
VERBOSE_FLAG: Final = Text("show error details", "显示错误详情")
DEBUG_FLAG: Final = Text(
    "print requests and responses to standard error, without passwords, cookies and tokens",
    "将请求与响应输出到标准错误，不含密码、cookie 与令牌",
)
SHELL_ARGUMENT: Final = Text("bash, zsh or fish", "bash、zsh 或 fish")

PROFILE_VERB_ARGUMENT: Final = Text(
    "list; show the selected one or NAME; use NAME by default; add NAME with these options; remove NAME",
    "list 列出；show 显示所选或 NAME；use 默认选用 NAME；add 以下列选项添加 NAME；remove 删除 NAME",
)
PROFILE_NAME_ARGUMENT: Final = Text("name of a profile", "配置名")
PROFILE_OPTIONS: Final = Text("what profile add saves", "profile add 所保存的内容")
PROFILE_OUTPUT_FLAG: Final = Text(
    "output format of list and show; with add, that of commands with the profile",
    "list 与 show 的输出形式；与 add 同用时，为使用此配置的命令的输出形式",
)
PROFILE_LANG_FLAG: Final = Text(
    "language; with add, also that of commands with the profile", "语言；与 add 同用时，也是使用此配置的命令的语言"
)

# Profiles

ONLY_WITH_ADD: Final = Text(
    "account options are for profile add only; to change a profile, edit the file, or remove and add it",
    "账户选项只用于 profile add；若要修改配置，请编辑文件，或删除后重新添加",
)
ONLY_TO_SHOW: Final = Text(
    "--query and --columns are for list and show only", "--query 和 --columns 只用于 list 和 show"
)
PROFILE_NAME_REQUIRED: Final = Text("name a profile", "请给出配置名")
PROFILE_NEEDS_URL: Final = Text("profile add requires --url", "profile add 需要 --url")
PASSWORD_FILE_NEEDS_USERNAME: Final = Text(
    "--password-file belongs to one account: pass --username too",
    "--password-file 只用于一个账户：请同时给出 --username",
)
PROFILE_NEEDS_PASSWORD_FILE: Final = Text(
    "a profile cannot have the standard input as --password-file: name a file",
    "配置中的 --password-file 不能是标准输入：请给出文件",
)
PROFILE_EXISTS: Final = Text("profile '{name}' already exists in {file}", "{file} 中已有配置“{name}”")
INVALID_PROFILE_NAME: Final = Text("a profile's name must have visible characters only", "配置名只能由可见字符组成")
NO_PROFILE_SELECTED: Final = Text(
    "no profile is selected: name one, or select one with profile use",
    "未选用配置：请给出配置名，或用 profile use 选用",
)
CANNOT_EDIT: Final = Text(
    "{file}: not changed, because its layout is unusual: edit it by hand", "{file}：写法特殊，未作修改：请自行编辑"
)
PROFILE_ADDED: Final = Text("added profile {name} to {file}", "已添加配置 {name}：{file}")
PROFILE_USED: Final = Text("commands use profile {name} by default", "命令默认使用配置 {name}")
PROFILE_REMOVED: Final = Text("removed profile {name} from {file}", "已删除配置 {name}：{file}")
DEFAULT_PROFILE_REMOVED: Final = Text(
    "removed profile {name} from {file}; there is no default profile now", "已删除配置 {name}：{file}；现在没有默认配置"
)
PROFILE_NAME: Final = Text("name", "名称")
PROFILE_DEFAULT: Final = Text("default", "默认")
YES: Final = Text("yes", "是")
PROFILE_COLUMNS: Final = {
    "url": Text("URL", "地址"),
    "username": Text("username", "用户名"),
    "region": Text("region", "区域"),
    "project": Text("project", "项目"),
}

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
INVALID_QUERY: Final = Text("not a valid JMESPath expression: {why}", "JMESPath 表达式无效：{why}")
FAILED_QUERY: Final = Text("--query cannot be applied to this data: {why}", "--query 不适用于此数据：{why}")
QUERY_NEEDS_DATA: Final = Text(
    "--query requires --output json or yaml; --columns selects from tables",
    "--query 只能与 --output json 或 yaml 同用；表格请用 --columns",
)
COLUMNS_NEED_TABLE: Final = Text(
    "--columns requires --output table, csv or markdown; --query selects from data",
    "--columns 只能与 --output table、csv 或 markdown 同用；数据请用 --query",
)
MUST_BE_COLUMNS: Final = Text("must be names separated by commas", "须为以逗号分隔的列名")
UNKNOWN_COLUMN: Final = Text(
    "--columns: no column '{name}'; available: {known}", "--columns：没有列“{name}”；可用的有：{known}"
)
MUST_BE_TEXT: Final = Text("must be a non-empty string in quotes", "须为带引号的非空文本")
MUST_BE_TABLES: Final = Text("must be tables such as [profiles.work]", "须为形如 [profiles.work] 的表")
MUST_BE_ONE_OF: Final = Text("must be one of {choices}", "须为以下之一：{choices}")
UNKNOWN_KEY: Final = Text("unknown key; valid keys: {known}", "没有此键；可用的有：{known}")
UNKNOWN_PROFILE: Final = Text(
    "no profile '{name}' in {file}; available: {known}", "{file} 中没有配置“{name}”；可用的有：{known}"
)
NO_PROFILES: Final = Text(
    "no profile '{name}': {file} has none; add one with cloudconsole profile add",
    "没有配置“{name}”：{file} 中尚无配置；请用 cloudconsole profile add 添加",
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
READABLE_BY_OTHERS: Final = Text(
    "warning: every user of this machine can read {file}; fix it with: {command}",
    "警告：本机所有用户均可读取 {file}；请执行：{command}",
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
WATCH_NEEDS_TERMINAL: Final = Text(
    "--watch requires --output json, or a terminal (not a pipe or TERM=dumb) and --output table",
    "--watch 只能与 --output json 同用，或在终端（非管道、非 TERM=dumb）上与 --output table 同用",
)

# Account selection

NO_CONSOLE: Final = Text(
    "no console URL: pass --url, set CLOUDCONSOLE_URL, select a profile, or log in first",
    "未指定控制台：请用 --url、设置 CLOUDCONSOLE_URL、选择配置，或先登录",
)
NO_USERNAME: Final = Text(
    "no username: pass --username or set CLOUDCONSOLE_USERNAME",
    "未指定用户名：请用 --username 或设置 CLOUDCONSOLE_USERNAME",
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
URL_PROMPT: Final = Text("Console URL: ", "控制台地址：")
USERNAME_PROMPT: Final = Text("Username at {url}: ", "{url} 的用户名：")
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

WATCH_HEADING: Final = Text("{username} at {url}, {time}; Ctrl-C to stop", "{username}，{url}，{time}；按 Ctrl-C 结束")
SESSION_ENDED: Final = Text("the session of {username} at {url} has ended", "{username} 在 {url} 的会话已结束")
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

CANNOT_REACH: Final = Text("cannot reach {url}: {why}", "无法连接 {url}：{why}")
REASONS: Final = {
    "no response in time": Text("no response in time", "未及时响应"),
    "Connection refused": Text("Connection refused", "连接被拒绝"),
    "Connection reset by peer": Text("Connection reset by peer", "连接被对方重置"),
    "Name or service not known": Text("Name or service not known", "没有此主机名"),
    "Temporary failure in name resolution": Text("Temporary failure in name resolution", "暂时无法解析主机名"),
    "No address associated with hostname": Text("No address associated with hostname", "此主机名没有地址"),
    "Network is unreachable": Text("Network is unreachable", "网络不可达"),
    "No route to host": Text("No route to host", "没有到主机的路由"),
    "the connection was lost, or the response is not HTTP": Text(
        "the connection was lost, or the response is not HTTP", "连接中断，或响应不是 HTTP"
    ),
    "the request is not valid HTTP": Text("the request is not valid HTTP", "请求不是有效的 HTTP"),
    "a concurrent login takes too long": Text("a concurrent login takes too long", "同时进行的登录耗时过长"),
}
"""Why a console cannot be reached, as the system and the client say it."""
UNKNOWN_ACTION: Final = Text(
    "Unknown action. cloudconsole actions lists the console's actions; their names are case-sensitive.",
    "没有此操作。cloudconsole actions 可列出控制台的操作，其名称区分大小写。",
)
FILE_ERRORS: Final = {
    "No such file or directory": Text("No such file or directory", "没有此文件或目录"),
    "Permission denied": Text("Permission denied", "没有权限"),
    "Is a directory": Text("Is a directory", "是目录"),
    "Not a directory": Text("Not a directory", "不是目录"),
    "No space left on device": Text("No space left on device", "磁盘空间不足"),
    "Read-only file system": Text("Read-only file system", "文件系统为只读"),
    "File name too long": Text("File name too long", "文件名过长"),
}
"""Why a file cannot be used, as the system says it."""
NOT_A_CONSOLE: Final = Text(
    "the server at {url} responded with status {code}, but not as a console does: check the URL",
    "{url} 的服务器返回状态 {code}，但它不像是控制台：请检查地址",
)
STATUS_ONLY: Final = Text("the console responded with status {code}", "控制台返回状态 {code}")
CANNOT_CONNECT: Final = Text("{message}", "无法连接：{message}")
PROTOCOL_ERROR: Final = Text("{message}", "回复不符合接口约定：{message}")
TLS_UNTRUSTED: Final = Text(
    "the certificate is not trusted: {why}; pass the certificate of its CA with --ca-file",
    "证书不受信任：{why}；请用 --ca-file 指定其签发机构的证书",
)
TLS_OTHER_HOST: Final = Text(
    "the certificate belongs to another host: {why}; check the URL", "证书属于其他主机：{why}；请检查地址"
)
TLS_EXPIRED: Final = Text(
    "the certificate is not valid now: {why}; check this machine's clock, or have the certificate renewed",
    "证书不在有效期内：{why}；请检查本机时钟，或请管理员更新证书",
)
TLS_PLAIN: Final = Text(
    "the server does not speak TLS on this port: {why}; check the port, or use http://",
    "此端口并非 TLS：{why}；请检查端口，或改用 http://",
)
TLS_FAILED: Final = Text("TLS failed: {why}", "TLS 失败：{why}")
DETAILS: Final = {
    "code": Text("code", "代码"),
    "error": Text("error", "错误标识"),
    "field": Text("field", "字段"),
    "request_id": Text("request ID", "请求编号"),
    "address": Text("address", "地址"),
    "cause": Text("cause", "原因"),
}
RETRY_AFTER: Final = Text("{message} (retry in {seconds} s)", "{message}（{seconds} 秒后再试）")

INTERNAL_ERROR: Final = Text(
    "internal error: {fault} (set {variable}=1 for a traceback)",
    "这是 cloudconsole 自身的错误：{fault}（{variable}=1 可显示出处）",
)
