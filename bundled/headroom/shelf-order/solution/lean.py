"""Sorts one group of initials after the other; each group is read anew from the file."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
GROUPS = ("-d", "e-g", "h-j", "k-l", "m-n", "o-z")


def key(line: str) -> tuple[str, int, str]:
    author, year, title = line.split("\t")
    return author.lower(), -int(year), title


def in_group(group: str) -> list[str]:
    """The lines whose author begins with a letter of this group."""
    first, last = group.split("-")
    with open(f"{APP}/books.tsv", encoding="ascii") as file:
        return [line for line in file if first <= line[0].lower() <= last]


def main() -> None:
    with open(f"{APP}/shelf.tsv", "w", encoding="ascii") as file:
        for group in GROUPS:
            file.writelines(sorted(in_group(group), key=key))


if __name__ == "__main__":
    main()
