"""What the service costs, measured: `python -m service.bench`, a part of `make bench`."""
