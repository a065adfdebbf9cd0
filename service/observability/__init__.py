"""Logs, metrics and traces, by which the operator sees what the server does."""
