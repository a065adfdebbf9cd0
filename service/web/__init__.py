"""The second door: Connect, gRPC-Web and JSON over HTTP, and the table for a browser."""
