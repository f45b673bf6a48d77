# SPDX-License-Identifier: GPL-2.0-only
"""Lets `python -m mmbatch` run the command line."""

import sys

from mmbatch.cli.main import main

sys.exit(main())
