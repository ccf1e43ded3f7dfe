#!/bin/bash
# The way that may lose a child: this task is about a parent that lives on and still gets it right.
exec python3 -I -S "${INFRANOISE_ROOT}/solution/heavy.py"
