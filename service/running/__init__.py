"""Servers, put together of all parts, and run as processes."""
