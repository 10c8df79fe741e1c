"""Messages and help texts of `cloudconsole admin`, in English and Chinese; names of fields come from the admin UI."""

from collections.abc import Mapping
from typing import Final

from cloudconsole.spec.i18n import Text

# Options of several commands

DATA_FLAG: Final = Text(
    "data directory (default: from the settings, else data)", "数据目录（默认取自设置，否则为 data）"
)
DATABASE_FLAG: Final = Text("PostgreSQL database to use instead of a directory", "代替数据目录的 PostgreSQL 数据库")
DATABASE_PASSWORD_FLAG: Final = Text("file with the database password", "存放数据库密码的文件")
TIME_ZONE_FLAG: Final = Text(
    "time zone of times without an offset (default: from the settings, else UTC)",
    "未注明时差的时间所用的时区（默认取自设置，否则为 UTC）",
)
JSON_FLAG: Final = Text("print JSON", "以 JSON 输出")
LIMIT_FLAG: Final = Text(
    "print at most N (default: {limit} on a terminal, otherwise all)",
    "最多输出 N 条（默认在终端上为 {limit} 条，否则全部）",
)
DRY_RUN_FLAG: Final = Text("show what would change; change nothing", "只显示将要做的更改，不实际更改")
NOT_CHANGED: Final = Text("dry run: nothing was changed", "试运行：未做任何更改")
VERB: Final = Text("VERB", "操作")

# Opening the store

DATA_AND_DATABASE: Final = Text(
    "--data: the settings select a PostgreSQL database: remove --data, or use settings without database (another "
    "--config, no CLOUDCONSOLE_DATABASE)",
    "--data：设置中已选用 PostgreSQL 数据库：请去掉 --data，或使用不含 database 的设置（另用 --config，且不设置 "
    "CLOUDCONSOLE_DATABASE）",
)
NO_STORE: Final = Text(
    "no store in {directory}: pass its directory with --data", "{directory} 中没有数据存储：请用 --data 指定其目录"
)
OVERRIDABLE: Final = Text("{problem}; use --force to override", "{problem}；如需强制执行，请用 --force")
ARGUMENT_NOT_UTF8: Final = Text("an argument is not UTF-8 text", "某个参数不是 UTF-8 文本")
STORE_LOCKED: Final = Text("{store} is locked by other writers: try again", "{store}正被其他写入者锁定，请重试")
STORE_UNUSABLE: Final = Text("{store} cannot be used: {reason}", "{store}无法使用：{reason}")

PROBLEM: Final = Text("{field}: {problem}", "{field}：{problem}")
COMMA: Final = Text(", ", "、")

# Entities

GROUP: Final = Text("{entities}: {verbs}", "{entities}：{verbs}")
PURPOSES: Final[Mapping[str, Text]] = {
    "add": Text("add one", "添加一项"),
    "change": Text("change fields of one", "修改一项的字段"),
    "disable": Text("disable one", "停用一项"),
    "enable": Text("enable one again", "重新启用一项"),
    "end": Text("end one", "结束一项"),
    "reset": Text("reset to the defaults", "恢复为默认值"),
    "remove": Text("remove one", "删除一项"),
    "show": Text("show one", "显示一项"),
    "list": Text("list all", "列出全部"),
}
KEY_OF: Final = Text("{key} of the {entity}", "{entity}的{key}")
PRICE_KEY: Final = Text("{form}", "价格的键：{form}")
AT_LEAST_ONE: Final = Text("specify at least one of {flags}", "至少指定以下之一：{flags}")
END_FLAG: Final = Text("time of the end (default: now)", "结束时间（默认为当前时间）")
FORCE_FLAG: Final = Text("override the rule that rejects this", "不受拒绝此操作的规则限制")
SORT_FLAG: Final = Text("sort by {fields} (default: {default})", "排序依据：{fields}（默认 {default}）")
OR: Final = Text(" or ", "、")
DESCENDING_FLAG: Final = Text("sort in descending order", "降序排列")
AFTER_FLAG: Final = Text("continue after this one", "从此项之后继续")
MORE_RESULTS: Final = Text("more results: continue with --after {key}", "还有更多结果：请用 --after {key} 继续")
RESULT: Final = Text("{entity} {key}: {result}", "{entity} {key}：{result}")
POSITIVE_NUMBER: Final = Text("must be a positive whole number", "必须是正整数")
NOT_JSON: Final = Text("must be JSON, or @FILE with JSON in the file", "必须是 JSON，或 @FILE（文件内容为 JSON）")

# Accounts

PASSWORD_VERB: Final = Text("set a new password and end the account's sessions", "设置新密码，并结束该账户的会话")
END_ACCOUNT_SESSIONS: Final = Text("log the account out everywhere", "使该账户在所有设备上退出登录")
CLEAR_THROTTLE: Final = Text(
    "clear failed logins, so that the account can log in without waiting", "清除登录失败记录，使账户无需等待即可登录"
)
ADDRESS_FLAG: Final = Text("only those from this address (default: all)", "只清除来自此地址的记录（默认全部）")
USERNAME_ARGUMENT: Final = Text("username of the account", "账户的用户名")

# Audit log

AUDIT: Final = Text("show who changed what, and who logged in", "显示管理操作与登录记录")
AUDIT_DESCRIPTION: Final = Text(
    "Show changes by operators, newest first; with --access, logins, logouts and rejected logins.",
    "显示管理员所做的更改，按时间倒序；加 --access 则显示登录、退出和被拒绝的登录。",
)
ACCESS_FLAG: Final = Text("show the access audit (logins and logouts) instead", "改为显示登录记录（登录与退出）")
ACTOR_FLAG: Final = Text(
    "only by this operator; with --access, of this account", "只显示此操作人的更改；与 --access 同用时为此账户的记录"
)
CHANGE_FLAG: Final = Text(
    "only changes or events with this prefix, such as account.", "只显示以此开头的更改或事件，例如 account."
)
SUBJECT_FLAG: Final = Text("only changes to the entity with this key", "只显示对此键所指对象的更改")
SINCE_FLAG: Final = Text("only from this time", "只显示此时间起的记录")
UNTIL_FLAG: Final = Text("only before this time", "只显示此时间之前的记录")
AFTER_ENTRY_FLAG: Final = Text("continue after this entry", "从此记录之后继续")
NO_SUBJECT: Final = Text(
    "--subject: access audit entries have no subject; use --actor", "--subject：登录记录没有对象，请用 --actor"
)
ENTRY_ID: Final = Text("must be the id of an entry", "必须是记录的编号")
AUDIT_COLUMNS: Final[Mapping[str, Text]] = {
    "id": Text("id", "编号"),
    "at": Text("at", "时间"),
    "actor": Text("actor", "操作人"),
    "change": Text("change", "操作"),
    "subject": Text("subject", "对象"),
    "what": Text("what", "详情"),
    "event": Text("event", "事件"),
    "username": Text("username", "账户"),
    "address": Text("address", "地址"),
    "request_id": Text("request_id", "请求编号"),
}
NOTHING: Final = Text("nothing", "无")

# Maintenance

RECOUNT: Final = Text("recompute all totals from the resources", "根据资源重新计算所有合计")
RECOUNT_DESCRIPTION: Final = Text(
    "Recompute all totals from the resources. Run it when doctor reports wrong totals.",
    "根据资源重新计算所有合计。请在 doctor 报告合计有误时执行。",
)
COUNTERS_CORRECTED: Final = Text("{count} counters corrected", "已校正 {count} 个计数")
COUNTER_CORRECTED: Final = Text("{count} counter corrected", "已校正 {count} 个计数")
PRUNE: Final = Text(
    "remove ended resources, old log entries and expired sessions", "清除已结束的资源、旧日志记录和过期会话"
)
PRUNE_DESCRIPTION: Final = Text(
    "Remove data that is no longer needed, even while the console is being served: expired sessions, outdated failed "
    "logins and observed resources and, if an age is given, ended resources and log entries. No reported "
    "figure changes.",
    "清除不再需要的数据，服务运行时亦可：过期会话、过时的登录失败记录和观测到的资源；若给出天数，还包括已结束的资源和日志记录。"
    "不影响任何已报告的数字。",
)
PRUNABLE: Final[Mapping[str, Text]] = {
    "ended_resources": Text(
        "remove resources that ended more than DAYS ago, such as 400d (default: none)",
        "清除结束已超过 DAYS 的资源，例如 400d（默认不清除）",
    ),
    "audit": Text(
        "remove audit log entries older than DAYS, except those of prune itself, such as 400d (default: none)",
        "清除早于 DAYS 的审计日志记录（prune 自身的记录除外），例如 400d（默认不清除）",
    ),
    "access_audit": Text(
        "remove access audit entries older than DAYS, such as 400d (default: none)",
        "清除早于 DAYS 的登录记录，例如 400d（默认不清除）",
    ),
}
PRUNE_DRY_RUN: Final = Text("show what would be removed; remove nothing", "只显示将要清除的内容，不实际清除")
MUST_BE_DAYS: Final = Text(
    "must be a number of days from {least}d to {most}d, such as 400d", "必须是 {least}d 至 {most}d 的天数，例如 400d"
)
PRUNED: Final = Text("{table}: {count} removed, from before {time}", "{table}：已清除 {count} 行，早于 {time}")
WOULD_PRUNE: Final = Text(
    "{table}: {count} would be removed, from before {time}", "{table}：将清除 {count} 行，早于 {time}"
)
NOTHING_TO_REMOVE: Final = Text("nothing to remove", "没有需要清除的内容")
END_SESSIONS: Final = Text("log everyone out", "使所有用户退出登录")
END_SESSIONS_DESCRIPTION: Final = Text(
    "End all sessions, including those of operators. Run it after restoring an earlier state of the database, which "
    "makes ended sessions valid again. For one account: cloudconsole admin account end-sessions.",
    "结束所有会话，包括管理员的会话。数据库恢复到较早状态后，已结束的会话会重新有效，因此请执行此命令。"
    "只针对一个账户：cloudconsole admin account end-sessions。",
)
ALL_SESSIONS_ENDED: Final = Text(
    "all sessions ended ({count}): everyone has to log in again", "所有会话已结束（{count} 个）：所有用户须重新登录"
)
MIGRATE: Final = Text("create or migrate the store's tables", "创建或迁移数据表")
MIGRATE_DESCRIPTION: Final = Text(
    "Create or migrate the store's tables. PostgreSQL stores are migrated only by this command: run it once before "
    "starting replicas of a new version. Concurrent runs are safe.",
    "创建或迁移数据表。PostgreSQL 只由此命令迁移：启动新版本的副本之前请执行一次。同时执行多次也是安全的。",
)
MIGRATED: Final = Text(
    "the tables of {store} are up to date (revision {revision})", "{store}的数据表已是最新（版本 {revision}）"
)
TOKEN_KEYS: Final = Text(
    "keys that encrypt stored Keystone tokens: rotate", "加密所存 Keystone 令牌的密钥：rotate（轮换）"
)
ROTATE: Final = Text("encrypt tokens with a new key from now on", "此后用新密钥加密令牌")
ROTATE_DESCRIPTION: Final = Text(
    "Encrypt tokens with a new key from now on; running consoles pick it up within a second. The previous key remains "
    "valid, older ones are removed: users who logged in before the previous rotation have to log in again.",
    "此后用新密钥加密令牌；运行中的控制台会在一秒内采用。上一个密钥仍有效，更早的会被删除：上一次轮换之前登录的用户须重新登录。",
)
ROTATED: Final = Text(
    "{file}: tokens are now encrypted with a new key; the previous key stays valid",
    "{file}：令牌现已改用新密钥加密；上一个密钥仍有效",
)
