"""Where the program begins: nothing is loaded before Ctrl-C can be taken for what it is."""


def main() -> int:
    try:
        from cloudconsole.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130
