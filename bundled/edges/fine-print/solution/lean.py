"""Holds one estimate back until the next line shows whether it counts."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    total, held_day, held_litres = 0, "", 0
    with open(f"{APP}/meter.txt", encoding="ascii") as file:
        for line in file:
            day, litres = line.split()
            if day != held_day:
                total += held_litres
            held_day, held_litres = day, 0
            if litres.endswith("*"):
                held_litres = int(litres[:-1])
            else:
                total += int(litres)
    with open(f"{APP}/total.txt", "w", encoding="ascii") as file:
        file.write(f"{total + held_litres}\n")


if __name__ == "__main__":
    main()
