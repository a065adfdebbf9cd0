"""What an action costs the service: `python -m lab.service_bench`, a part of `make bench`."""
