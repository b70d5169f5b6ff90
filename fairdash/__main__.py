"""Entry point of ``python -m fairdash``; the command line itself is :mod:`fairdash.cli`."""

import sys

from fairdash.cli import main

if __name__ == "__main__":
    sys.exit(main())
