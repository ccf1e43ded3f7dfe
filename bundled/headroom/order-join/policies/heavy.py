"""Reads both files into lists of dictionaries, joins them into a third list, and adds up."""

import csv
import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def rows(name: str) -> list[dict[str, str]]:
    with open(f"{APP}/{name}", encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    region_of = {row["customer"]: row["region"] for row in rows("customers.csv")}
    orders = rows("orders.csv")
    joined = [{**order, "region": region_of.get(order["customer"], "unknown")} for order in orders]
    totals: dict[str, int] = {}
    for row in joined:
        if row["state"] == "shipped":
            totals[row["region"]] = totals.get(row["region"], 0) + int(row["cents"])
    with open(f"{APP}/regions.txt", "w", encoding="ascii") as file:
        file.writelines(f"{region} {total}\n" for region, total in totals.items())


if __name__ == "__main__":
    main()
