"""Takings of a file of sales, added up as it is read. Usage: till.py FILE"""

import sys

total = 0
with open(sys.argv[1], "rb") as sales:
    for sale in sales:
        _, pieces, cents = sale.split(b"\t")
        total += int(pieces) * int(cents)
print(total)
