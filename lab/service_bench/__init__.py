"""What the service costs, measured: `python -m lab.service_bench`, a part of `make bench`."""
