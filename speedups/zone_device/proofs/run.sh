#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Show the order of streaming stores, and prove the bounds of what is written; exits with 77 where
# cbmc is not installed. An argument is the seconds for litmus tests on the CPUs of this machine.
here=$(dirname "$0")
"${PYTHON:-python3}" "$here/order.py" "${1:-10}" || exit
exec "${PYTHON:-python3}" "$here/bounds.py"
