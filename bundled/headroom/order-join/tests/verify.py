"""Adds up per customer first and joins last: orders are streamed before any region is known."""

from grade import APP, counts, grade, share_right


def shipped_per_customer() -> dict[bytes, int]:
    totals: dict[bytes, int] = {}
    with open(f"{APP}/orders.csv", "rb") as file:
        for line in file:
            if b",shipped," in line:
                _, customer, _, cents = line.split(b",")
                totals[customer] = totals.get(customer, 0) + int(cents)
    return totals


def totals() -> dict[str, int]:
    waiting = shipped_per_customer()
    regions: dict[str, int] = {}
    with open(f"{APP}/customers.csv", "rb") as file:
        for line in file:
            customer, region, _ = line.split(b",")
            if customer in waiting:
                name = region.decode()
                regions[name] = regions.get(name, 0) + waiting.pop(customer)
    if waiting:
        regions["unknown"] = sum(waiting.values())
    return regions


def score() -> float:
    return share_right(counts("regions.txt", most_bytes=20_000), totals())


if __name__ == "__main__":
    grade(score)
