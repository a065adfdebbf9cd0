"""Writes fields of protobuf messages as bytes; see encoding.pyx."""

def field(number: int, content: bytes) -> bytes:
    """A message of only one field: a string, bytes, a packed list of numbers or a message."""

def number_field(number: int, content: int) -> bytes:
    """A message of only one field: a number that is not negative."""
