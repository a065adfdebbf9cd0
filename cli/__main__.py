"""`python -m cli` is `croupier`."""

from cli.main import main

if __name__ == "__main__":
    main()
