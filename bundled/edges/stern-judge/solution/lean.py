"""Numbers the lines as they pass."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with (
        open(f"{APP}/poem.txt", encoding="ascii") as poem,
        open(f"{APP}/numbered.txt", "w", encoding="ascii") as numbered,
    ):
        numbered.writelines(f"{number}\t{line}" for number, line in enumerate(poem, start=1))


if __name__ == "__main__":
    main()
