"""Messages of several server commands, in English and Chinese."""

from typing import Final

from cloudconsole.spec.i18n import Text

PASSWORD_STDIN_FLAG: Final = Text("read the password from standard input (one line)", "从标准输入读取密码（一行）")
PASSWORD_FILE_FLAG: Final = Text("read the password from a file", "从文件读取密码")
NO_TERMINAL: Final = Text(
    "no terminal for the password prompt: pass --password-stdin or --password-file",
    "没有可输入密码的终端：请用 --password-stdin 或 --password-file",
)
STDIN_NOT_UTF8: Final = Text("the password on standard input must be UTF-8 text", "标准输入中的密码必须是 UTF-8 文本")
PASSWORD_PROMPT: Final = Text("Password: ", "密码：")
NEW_PASSWORD_PROMPT: Final = Text("New password: ", "新密码：")
REPEAT_PASSWORD_PROMPT: Final = Text("Repeat password: ", "确认密码：")
NO_PASSWORD: Final = Text("no password given", "未输入密码")
PASSWORDS_DIFFER: Final = Text("passwords do not match", "两次输入的密码不一致")
PASSWORD_LENGTH: Final = Text("a password must have 1 to {longest} characters", "密码长度必须为 1 至 {longest} 个字符")
PASSWORD_IN_ARGUMENTS: Final = Text(
    "other users of this machine can see a password on the command line: use a password file, CLOUDCONSOLE_DATABASE or "
    "PGPASSFILE instead",
    "本机其他用户可以看到命令行中的密码：请改用密码文件、CLOUDCONSOLE_DATABASE 或 PGPASSFILE",
)
