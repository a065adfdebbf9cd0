"""Python stubs and client of the Croupier API."""
