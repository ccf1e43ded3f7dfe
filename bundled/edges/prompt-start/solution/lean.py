"""Delivers the program that reads each sale once."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    with open(f"{HERE}/till.py", "rb") as source, open(f"{APP}/till.py", "wb") as program:
        program.write(source.read())
