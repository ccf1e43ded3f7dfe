"""Takings of a file of sales, from a list of dictionaries. Usage: till.py FILE"""

import csv
import sys

with open(sys.argv[1], encoding="ascii", newline="") as file:
    sales = list(csv.DictReader(file, ("article", "pieces", "cents"), delimiter="\t"))
print(sum(int(sale["pieces"]) * int(sale["cents"]) for sale in sales))
