# SPDX-License-Identifier: GPL-2.0-only
"""Lets `python -m mmbatch` run the command line."""

import sys

try:
    from mmbatch.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
