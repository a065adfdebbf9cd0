"""Measurements of the engine, the search and the service; no part of a running server."""
