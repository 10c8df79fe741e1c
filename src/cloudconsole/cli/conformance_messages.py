"""Messages and help texts of `cloudconsole conformance`, in English and Chinese."""

from typing import Final

from cloudconsole.spec.i18n import Text

# Help

EPILOG: Final = Text(
    "Passwords are read from a file or from CLOUDCONSOLE_PASSWORD and CLOUDCONSOLE_OTHER_PASSWORD, or prompted for. "
    "Exit codes: 0 all MUST checks passed, 1 a MUST check failed, 2 usage error, 3 could not connect, 4 could not log "
    "in.",
    "密码取自文件，或 CLOUDCONSOLE_PASSWORD 和 CLOUDCONSOLE_OTHER_PASSWORD，否则会提示输入。"
    "退出码：0 所有 MUST 检查均通过，1 有 MUST 检查失败，2 用法错误，3 无法连接，4 无法登录。",
)
BASE_URL_ARGUMENT: Final = Text("console URL, without /api/", "控制台地址，不含 /api/")
REGION_FLAG: Final = Text(
    "URL of the identity endpoint to log in at (default: the one that the console lists, if only one)",
    "登录所用的认证地址（默认为控制台列出的地址，仅当只列出一个时）",
)
USERNAME_FLAG: Final = Text("account to log in with", "登录所用的账户")
PASSWORD_FILE_FLAG: Final = Text("file containing its password", "存放其密码的文件")
OTHER_USERNAME_FLAG: Final = Text(
    "account of another tenant, to check tenant isolation", "另一租户的账户，用于检查租户隔离"
)
OTHER_PASSWORD_FILE_FLAG: Final = Text("file containing the other account's password", "存放另一账户密码的文件")
DOMAIN_ID_FLAG: Final = Text(
    "ID of a domain of the account, for GetDomainDetail; up to {most} times",
    "该账户某个域名的 ID，用于 GetDomainDetail；最多 {most} 次",
)
SUITE_FLAG: Final = Text(
    "interface: what every console must do (default); extensions: also the extensions that the console lists; "
    "all: also what Cloud Console does beyond that",
    "interface：所有控制台都必须做到的（默认）；extensions：还包括控制台列出的扩展；"
    "all：还包括 Cloud Console 在此之外所做的",
)
ONLY_FLAG: Final = Text(
    "make only this check, or those of this section, and the checks they need; may be repeated",
    "只执行此检查或此节的检查，以及它们所依赖的检查；可重复",
)
LIST_FLAG: Final = Text("list the checks instead of making them", "列出检查而不执行")
VERIFY_FLAG: Final = Text("verify the digest of a JSON report and summarise it", "校验 JSON 报告的摘要值，并概述其结果")
STRICT_FLAG: Final = Text("also fail if a MUST could not be checked", "有 MUST 未能检查时也视为失败")
JSON_FLAG: Final = Text("also write a JSON report", "另外写出 JSON 报告")
JUNIT_FLAG: Final = Text("also write a JUnit XML report", "另外写出 JUnit XML 报告")
CA_FILE_FLAG: Final = Text("PEM file of CA certificates to trust", "所信任的 CA 证书文件（PEM）")
INSECURE_FLAG: Final = Text("do not verify TLS certificates", "不检查 TLS 证书")
TIMEOUT_FLAG: Final = Text(
    "timeout of each step of a request (default: 10); a request may take twice as long",
    "请求每一步的超时秒数（默认 10）；一个请求最长可达两倍",
)

# Errors

REQUIRED: Final = Text("the following arguments are required: {names}", "缺少参数：{names}")
INVALID_BASE_URL: Final = Text(
    "BASE_URL: invalid console URL: must be like https://console.example.com, without user, query or fragment",
    "BASE_URL：须为形如 https://console.example.com 的控制台地址，不含用户、查询或片段",
)
TOO_MANY_DOMAINS: Final = Text(
    "--domain-id: at most {most} are allowed, to limit the number of requests",
    "--domain-id：为限制请求数，最多 {most} 个",
)
NEEDS_OTHER_USERNAME: Final = Text(
    "--other-password-file requires --other-username", "--other-password-file 需要 --other-username"
)
SAME_USERNAME: Final = Text("--other-username: must differ from --username", "--other-username：不能与 --username 相同")
NOT_UTF8: Final = Text("{source}: must be valid UTF-8", "{source}：必须是 UTF-8 文本")
PASSWORD_OF: Final = Text("the password of {username}", "{username} 的密码")
SECONDS: Final = Text("must be a number of seconds greater than 0 and at most 300", "须为大于 0 且不超过 300 的秒数")
NO_PASSWORD: Final = Text(
    "no password for {username}: pass {flag}, set {variable}, or run at a terminal",
    "没有 {username} 的密码：请用 {flag}、设置 {variable}，或在终端上执行",
)
PASSWORD_LENGTH: Final = Text(
    "the password of {username} must have 1 to {most} characters", "{username} 的密码须为 1 至 {most} 个字符"
)
CA_FILE: Final = Text("--ca-file: {file}: {reason}", "--ca-file：{file}：{reason}")
NO_CERTIFICATE: Final = Text("contains no PEM certificate", "其中没有 PEM 证书")
NOT_CONNECTED: Final = Text("{base}: could not connect: {reason}", "{base}：无法连接：{reason}")
NOT_LOGGED_IN: Final = Text("could not log in: {problem}", "无法登录：{problem}")
UNKNOWN_CHECK: Final = Text(
    "--only: {name}: no such check or section in the profile {profile}; {hint}",
    "--only：{name}：在 {profile} 中没有此检查或节；{hint}",
)
DID_YOU_MEAN: Final = Text("did you mean {near}?", "是否想输入 {near}？")
HINT_ALL: Final = Text("--list lists those of the profile", "--list 可列出全部")
HINT_INTERFACE: Final = Text("see --list, or use --suite all", "参见 --list，或使用 --suite all")
VERIFY_FAILED: Final = Text("--verify: {file}: {reason}", "--verify：{file}：{reason}")
NOT_A_REPORT: Final = Text("it is not a JSON report of the conformance suite", "不是符合性检查的 JSON 报告")
CHANGED: Final = Text("the content does not match the digest", "内容与摘要值不符")
VERIFIED: Final = Text("{file}: {result}", "{file}：{result}")
UNCHANGED: Final = Text("unchanged; {summary}", "未被改动；{summary}")
NOT_A_CONSOLE: Final = Text(
    "BASE_URL: {base} does not look like a Cloud Console: GET /api/ returned {reason}",
    "BASE_URL：{base} 不像是 Cloud Console：GET /api/ 返回 {reason}",
)
NO_REGION: Final = Text(
    "--region: required, since GET /api/ lists no region: {reason}",
    "--region：必须给出，因为 GET /api/ 未列出认证地址：{reason}",
)
SEVERAL_REGIONS: Final = Text(
    "--region: required, since the console lists several: {regions}",
    "--region：必须给出，因为控制台列出了多个：{regions}",
)
CANNOT_WRITE: Final = Text("{file}: cannot write: {reason}", "{file}：无法写入：{reason}")
SAME_FILE: Final = Text(
    "--junit: {file} is also the --json file; use a different file",
    "--junit：{file} 也是 --json 的文件，请换用其他文件",
)
