"""`python -m cluster install`: the Debian packages that tests of many machines need, where they are missing."""

import argparse
import subprocess
import sys

from cluster.errors import ClusterFailed
from cluster.install import install


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="install PostgreSQL and nginx, where they are missing")
    parser.parse_args(arguments)
    try:
        install(print)
    except (ClusterFailed, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"cluster: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
