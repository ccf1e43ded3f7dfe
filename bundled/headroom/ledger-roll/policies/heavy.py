"""Loads the whole ledger as objects before the first sum."""

import json
import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with open(f"{APP}/ledger.json", encoding="ascii") as file:
        ledger = json.load(file)
    balances = dict.fromkeys((booking["account"] for booking in ledger), 0)
    for booking in ledger:
        if not booking["void"]:
            balances[booking["account"]] += booking["cents"]
    with open(f"{APP}/balances.json", "w", encoding="ascii") as file:
        json.dump(balances, file)


if __name__ == "__main__":
    main()
