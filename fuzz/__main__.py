"""`python -m fuzz`."""

import logging
import sys

from fuzz.runner import main

if __name__ == "__main__":
    logging.getLogger("cloudconsole").setLevel(logging.ERROR)
    sys.exit(main(sys.argv[1:]))
