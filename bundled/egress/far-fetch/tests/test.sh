#!/bin/bash
exec python3 -E -s -S "${INFRANOISE_ROOT}/tests/verify.py"
