"""Writes customers.csv and orders.csv. Usage: generate.py DIRECTORY"""

import random
import sys

CUSTOMERS = 20_000
ORDERS = 82_000
REGIONS = [f"{side}{number}" for side in ("north", "south", "east", "west") for number in range(6)]
STATES = ("shipped", "shipped", "open", "returned")


def main(directory: str) -> None:
    rng = random.Random(20260105)
    regions = rng.choices(REGIONS, k=CUSTOMERS)
    with open(f"{directory}/customers.csv", "w", encoding="ascii") as file:
        file.write("customer,region,since\n")
        file.writelines(
            f"{customer},{region},{2001 + customer % 25}\n"
            for customer, region in enumerate(regions)
            if customer % 40 != 7  # customers that nobody wrote down
        )
    columns = zip(
        rng.choices(range(CUSTOMERS), k=ORDERS),
        rng.choices(STATES, k=ORDERS),
        rng.choices(range(100, 90_000), k=ORDERS),
        strict=True,
    )
    with open(f"{directory}/orders.csv", "w", encoding="ascii") as file:
        file.write("order,customer,state,cents\n")
        file.writelines(
            f"{500_000 + order},{customer},{state},{cents}\n"
            for order, (customer, state, cents) in enumerate(columns)
        )


if __name__ == "__main__":
    main(sys.argv[1])
