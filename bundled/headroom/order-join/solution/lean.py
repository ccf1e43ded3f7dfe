"""Keeps one byte per customer, the number of the region, and streams the orders."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
MOST_CUSTOMERS = 1 << 20


def regions_of_customers() -> tuple[list[str], bytearray]:
    """Names of regions, and for each customer the place of his region among them."""
    names = ["unknown"]
    region_of = bytearray(MOST_CUSTOMERS)
    with open(f"{APP}/customers.csv", encoding="ascii") as file:
        next(file)
        for line in file:
            customer, region, _ = line.split(",")
            if region not in names:
                names.append(region)
            region_of[int(customer)] = names.index(region)
    return names, region_of


def main() -> None:
    names, region_of = regions_of_customers()
    totals = [0] * len(names)
    shipped = [False] * len(names)
    with open(f"{APP}/orders.csv", encoding="ascii") as file:
        next(file)
        for line in file:
            _, customer, state, cents = line.split(",")
            if state == "shipped":
                totals[region_of[int(customer)]] += int(cents)
                shipped[region_of[int(customer)]] = True
    with open(f"{APP}/regions.txt", "w", encoding="ascii") as file:
        for name, total, any_shipped in zip(names, totals, shipped, strict=True):
            if any_shipped:
                file.write(f"{name} {total}\n")


if __name__ == "__main__":
    main()
