"""`python -m cluster install`: install the Debian packages that multi-server tests need."""

import argparse
import subprocess
import sys

from cluster.errors import ClusterError
from cluster.install import install


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="install missing packages: PostgreSQL, nginx, Prometheus, systemd")
    parser.parse_args(arguments)
    try:
        install(print)
    except (ClusterError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"cluster: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
