"""Commands that run and manage a console; `cli.commands` loads them by name."""
