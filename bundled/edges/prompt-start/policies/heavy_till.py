"""Takings of a file of sales, by exact decimal fractions and rows of names. Usage: till.py FILE"""

import csv
import sys
from decimal import Decimal

with open(sys.argv[1], encoding="ascii", newline="") as file:
    sales = list(csv.DictReader(file, ("article", "pieces", "cents"), delimiter="\t"))
takings = [Decimal(sale["pieces"]) * Decimal(sale["cents"]) / 100 for sale in sales]
print(int(sum(takings, Decimal(0)) * 100))
