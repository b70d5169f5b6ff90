"""Entry point of ``python -m fairdash``. The module :mod:`fairdash.cli` contains the command line."""

import sys

from fairdash.cli import main

if __name__ == "__main__":
    sys.exit(main())
