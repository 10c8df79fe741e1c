"""Console script entry point; imports nothing before Ctrl-C can be handled."""


def main() -> int:
    try:
        from cloudconsole.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130
