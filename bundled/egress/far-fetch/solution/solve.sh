#!/bin/bash
exec python3 -I -S "${INFRANOISE_ROOT}/solution/lean.py"
