"""`python -m history`."""

import sys

from history.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
