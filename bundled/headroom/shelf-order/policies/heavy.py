"""Takes every line apart into a tuple, sorts all of them at once, and puts them together again."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with open(f"{APP}/books.tsv", encoding="ascii") as file:
        lines = file.readlines()
    books = []
    for line in lines:
        author, year, title = line.split("\t")
        books.append((author.lower(), -int(year), title, author))
    books.sort()
    with open(f"{APP}/shelf.tsv", "w", encoding="ascii") as file:
        for _, negative, title, author in books:
            file.write(f"{author}\t{-negative}\t{title}")


if __name__ == "__main__":
    main()
