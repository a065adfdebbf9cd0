"""The Python stubs of the Croupier API, a client and a terminal client."""
