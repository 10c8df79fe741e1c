"""Messages and help texts of commands that copy data in and out, in English and Chinese."""

from collections.abc import Mapping
from typing import Final

from cloudconsole.spec.i18n import Text

# Import

IMPORT: Final = Text("add resources from a file of JSON lines", "从 JSON Lines 文件添加资源")
IMPORT_DESCRIPTION: Final = Text(
    "Add resources from a file of JSON lines. Resources that already exist unchanged are skipped, so after an "
    "interruption the same command continues.",
    "从 JSON Lines 文件添加资源。已存在且相同的资源会被跳过，因此中断后再次执行同一命令即可继续。",
)
IMPORT_FILE: Final = Text("file with one resource per line; - for standard input", "每行一项资源的文件；- 为标准输入")
IMPORT_FORCE: Final = Text("let tenants exceed their quotas", "允许租户超出配额")
IMPORT_DRY_RUN: Final = Text(
    "import into a copy of the store and list up to {limit} invalid lines; change nothing",
    "导入到数据存储的副本，列出最多 {limit} 个无效行；不做任何更改",
)
IMPORTED: Final = Text(
    "resources: {added} added, {existing} already there", "资源：已添加 {added} 项，原已存在 {existing} 项"
)
STOPPED_AT_LINE: Final = Text(
    "stopped at line {line}: all lines before it are imported; fix it and run the command again to continue",
    "停止于第 {line} 行：之前的行均已导入；请修正该行，再次执行命令以继续",
)
STOPPED_AT_FIRST_LINE: Final = Text(
    "stopped at line {line}: nothing was added; fix it and run the command again to continue",
    "停止于第 {line} 行：未添加任何资源；请修正该行，再次执行命令以继续",
)
STOPPED_AFTER: Final = Text(
    "stopped after importing {lines} lines: run the command again to continue",
    "导入 {lines} 行后停止：请再次执行命令以继续",
)
STOPPED_BEFORE: Final = Text(
    "stopped before anything was added: run the command again", "尚未添加任何资源即停止：请再次执行命令"
)
WOULD_IMPORT: Final = Text(
    "resources: {added} would be added, {existing} already there", "资源：将添加 {added} 项，原已存在 {existing} 项"
)
INVALID_LINES: Final = Text(
    "invalid lines: {count}; an import would stop at line {line}", "无效行：{count} 行；导入将停止于第 {line} 行"
)
FIRST_INVALID_LINES: Final = Text(
    "invalid lines: the first {count}; an import would stop at line {line}",
    "无效行：前 {count} 行；导入将停止于第 {line} 行",
)
INTERRUPTED: Final = Text("interrupted", "已中断")
PROGRESS_LINES: Final = Text("{lines} lines", "{lines} 行")
PROGRESS_RATE: Final = Text("{rate} lines/s", "{rate} 行/秒")
PROGRESS_IMPORT: Final = Text("import", "导入")
PROGRESS_ROWS: Final = Text("rows, {step}", "行，{step}")
PROGRESS_STARTING: Final = Text("starting", "正在开始")

# Cloud file

LOAD: Final = Text("make the store match a cloud file", "使数据存储与云文件一致")
LOAD_DESCRIPTION: Final = Text(
    "Make the store match a cloud file, in one transaction. Entities not in the file are removed.",
    "在一个事务中使数据存储与云文件一致。文件中没有的内容会被删除。",
)
LOAD_FILE: Final = Text("cloud file (YAML); - for standard input", "云文件（YAML）；- 为标准输入")
LOAD_FORCE: Final = Text(
    "allow exceeded quotas, and a store without an operator who can log in",
    "允许超出配额，也允许没有可以登录的管理员",
)
DUMP: Final = Text("write the store as a cloud file", "将数据存储写成云文件")
DUMP_DESCRIPTION: Final = Text(
    "Write the store, password hashes included, as a cloud file that load accepts.",
    "将数据存储（含密码哈希）写成 load 可以读取的云文件。",
)
DUMP_FILE: Final = Text("file to write (default: -, standard output)", "要写入的文件（默认 -，即标准输出）")
NEW_STORE: Final = Text("created a new store in {location}", "已新建数据存储：{location}")
COUNTS: Final[Mapping[str, Text]] = {
    "added": Text("{count} added", "添加 {count} 项"),
    "changed": Text("{count} changed", "修改 {count} 项"),
    "removed": Text("{count} removed", "删除 {count} 项"),
}

# Costs

COSTS: Final = Text("export the costs of a month", "导出一个月的费用")
EXPORT: Final = Text("print the costs of a month", "输出一个月的费用")
EXPORT_DESCRIPTION: Final = Text(
    "Print what each resource has cost in a month, up to now, as FOCUS 1.2 (FinOps Open Cost and Usage Specification) "
    "or as CSV.",
    "输出各资源在一个月中截至目前的费用，格式为 FOCUS 1.2（FinOps 开放费用与用量规范）或 CSV。",
)
MONTH_FLAG: Final = Text("the month, such as 2026-10", "月份，例如 2026-10")
TENANT_FLAG: Final = Text(
    "only this tenant (default: all, including removed tenants)", "只导出此租户（默认全部，包括已删除的租户）"
)
FORMAT_FLAG: Final = Text("columns (default: focus)", "列的格式（默认 focus）")
PROVIDER_FLAG: Final = Text(
    "provider, publisher and issuer of invoices in FOCUS (default: from the settings, else {default})",
    "FOCUS 中的提供方、发布方与开票方（默认取自设置，否则为 {default}）",
)
MUST_BE_MONTH: Final = Text("must be a month such as 2026-10", "必须是月份，例如 2026-10")

# Backup

BACKUP: Final = Text("write the store to one file", "将数据存储备份到一个文件")
BACKUP_DESCRIPTION: Final = Text(
    "Write a consistent snapshot of the store to one file, even while it is being served. The file contains secrets: "
    "keep it private.",
    "将数据存储的一致快照写入一个文件，服务运行时亦可。文件含有机密，请妥善保管。",
)
BACKUP_FILE: Final = Text("file to write", "要写入的文件")
BACKUP_FORCE: Final = Text("overwrite an existing file", "覆盖已有文件")
RESTORE: Final = Text("replace the store with a backup", "用备份替换数据存储")
RESTORE_DESCRIPTION: Final = Text(
    "Replace the store with a backup, even while it is being served. Later data is lost except for the audit logs, and "
    "all sessions end.",
    "用备份替换数据存储，服务运行时亦可。备份之后的数据会丢失（审计日志除外），所有会话都会结束。",
)
RESTORE_FILE: Final = Text("backup to restore", "要恢复的备份")
TO_FLAG: Final = Text("create a new store in this empty directory instead", "改为在此空目录中新建数据存储")
KEEP_SESSIONS_FLAG: Final = Text(
    "keep the backup's sessions valid, including those ended since", "保留备份中的会话，包括此后已结束的会话"
)
YES_FLAG: Final = Text("do not ask for confirmation", "不询问确认")
NOT_RECORDED: Final = Text(
    "{change} finished but not recorded in the audit log: {problem}", "{change} 已完成，但未能记入审计日志：{problem}"
)
HOW_TO_BACK_UP: Final = Text(
    "back up {store} with PostgreSQL tools; the file contains secrets: umask 077; {command}",
    "请用 PostgreSQL 工具备份 {store}；文件含有机密：umask 077; {command}",
)
HOW_TO_RESTORE: Final = Text(
    "restore {store} with PostgreSQL tools while nothing serves it, then migrate the tables and end the restored "
    "sessions{hidden}: {command}",
    "请在停止服务后用 PostgreSQL 工具恢复 {store}，然后迁移数据表并结束恢复出的会话{hidden}：{command}",
)
HIDDEN_PASSWORD: Final = Text(
    "; pass the password, not shown here, to all three in PGPASSWORD or PGPASSFILE",
    "；密码未在此显示，请用 PGPASSWORD 或 PGPASSFILE 传给这三条命令",
)
BACKUP_TO_STREAM: Final = Text(
    "{file}: a backup can only be written to a file: pass a file name", "{file}：备份只能写入文件：请给出文件名"
)
BACKED_UP: Final = Text(
    "wrote {file}: the store as of {time}, {size} bytes, verified",
    "已写入 {file}：{time} 的数据存储，{size} 字节，已校验",
)
BACKUP_IS_SECRET: Final = Text(
    "it contains password hashes and keys: protect it like the store itself",
    "其中含有密码哈希和密钥：请像数据存储本身一样保护",
)
NOT_EMPTY: Final = Text(
    "--to: {directory} is not an empty directory: choose an empty or new one",
    "--to：{directory} 不是空目录：请选择空目录或新目录",
)
RESTORED: Final = Text(
    "restored {directory} to the store as of {time}: {contents}",
    "已将 {directory} 恢复为 {time} 的数据存储：{contents}",
)
ENTRIES_RETAINED: Final = Text(
    "audit log entries retained that are not in the backup: {count}", "已保留备份中没有的审计日志记录：{count} 条"
)
SESSIONS_ENDED: Final = Text("all sessions ended: everyone has to log in again", "所有会话已结束：所有用户须重新登录")
MUST_CONFIRM: Final = Text(
    "this replaces all data in {directory}: pass --yes or run on a terminal",
    "此操作将替换 {directory} 中的全部数据：请加 --yes，或在终端上执行",
)
CONFIRM: Final = Text(
    "Backup of {time}: {contents}.\nIt replaces all data in {directory}; {sessions}.\nType yes to continue: ",
    "{time} 的备份：{contents}。\n它将替换 {directory} 中的全部数据；{sessions}。\n输入 yes 继续：",
)
SESSIONS_KEPT: Final = Text("the backup's sessions become valid again", "备份中的会话将重新有效")
SESSIONS_END: Final = Text("all sessions end", "所有会话都会结束")
NOTHING_CHANGED: Final = Text("nothing was changed", "未做任何更改")
CONTENTS: Final[Mapping[str, Text]] = {
    "tenants": Text("{count} tenants", "租户 {count} 个"),
    "accounts": Text("{count} accounts", "账户 {count} 个"),
    "resources": Text("{count} resources", "资源 {count} 项"),
}

# Copy to PostgreSQL

COPY_TO: Final = Text("copy the embedded store to a PostgreSQL database", "将内置数据存储复制到 PostgreSQL 数据库")
COPY_TO_DESCRIPTION: Final = Text(
    "Copy the embedded store, sessions included, to an empty PostgreSQL database in one transaction, and compare the "
    "two row by row. Stop cloudconsole serve first; afterwards serve the database.",
    "在一个事务中将内置数据存储（含会话）复制到空的 PostgreSQL 数据库，并逐行比对。请先停止 cloudconsole serve，"
    "之后改用该数据库提供服务。",
)
TARGET_ARGUMENT: Final = Text("target: a PostgreSQL URL, such as {example}", "目标：PostgreSQL URL，例如 {example}")
WHILE_SERVED_FLAG: Final = Text(
    "copy even while the store is being served; later changes are not copied", "服务运行时也复制；之后的更改不会被复制"
)
COPY_BEHIND: Final = Text(
    "{store} was modified after {time}: later changes are not in the copy",
    "{store}在 {time} 之后有修改：副本中没有之后的更改",
)
COPIED: Final = Text(
    "copied {store} as of {time} to {location} and compared row by row",
    "已将 {time} 的 {store}复制到 {location}，并已逐行比对",
)
SERVE_COPY: Final = Text("to serve it, set the setting database", "如需用它提供服务，请配置设置项 database")
