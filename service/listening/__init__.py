"""Ports and connections: sockets, limits, TLS and HTTP/1.1."""
