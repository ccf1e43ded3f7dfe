"""Writes books.tsv. Usage: generate.py DIRECTORY"""

import random
import sys

BOOKS = 138_000
AUTHORS = 9_000
SYLLABLES = ("ba", "den", "fo", "gar", "hil", "jo", "kem", "lin", "mar", "no", "pel", "ris", "ton")


def name(rng: random.Random) -> str:
    """An author; capitals fall anywhere, so that letter case matters."""
    plain = "".join(rng.choices(SYLLABLES, k=4))
    return plain.title() if rng.random() < 0.7 else plain.upper()


def main(directory: str) -> None:
    rng = random.Random(20260106)
    authors = sorted({name(rng) for _ in range(AUTHORS)})
    columns = zip(
        rng.choices(authors, k=BOOKS),
        rng.choices(range(1850, 2026), k=BOOKS),
        rng.choices(SYLLABLES, k=BOOKS),
        rng.sample(range(10 * BOOKS), k=BOOKS),
        strict=True,
    )
    with open(f"{directory}/books.tsv", "w", encoding="ascii") as file:
        file.writelines(
            f"{author}\t{year}\tOn {word} {number}\n" for author, year, word, number in columns
        )


if __name__ == "__main__":
    main(sys.argv[1])
