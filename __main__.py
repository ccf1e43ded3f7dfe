"""`python -m infranoise` is the `infranoise` command."""

from .cli.main import main

if __name__ == "__main__":
    main()
