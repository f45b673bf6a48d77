#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prove the bounds of what is copied; exits with 77 where cbmc is not installed.
exec "${PYTHON:-python3}" "$(dirname "$0")/bounds.py"
