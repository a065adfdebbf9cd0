"""The examples keep building when a message of the schema gets a field."""

import re
from pathlib import Path

SOURCES = (Path(__file__).parents[2] / "examples/rust/src").glob("*.rs")
# A literal starts at the end of a line and ends with the first line that is indented like it.
LITERAL = re.compile(
    r"^(?P<indent> *)\S[^\n]*\b(?P<name>\w+(?:Request|Config)) \{\n(?P<fields>.*?)^(?P=indent)\}",
    re.MULTILINE | re.DOTALL,
)


def test_the_example_in_rust_names_no_message_in_full():
    # A Rust literal that names every field stops compiling when the message gets another one.
    literals = [found for file in SOURCES for found in LITERAL.finditer(file.read_text())]
    assert len(literals) >= 8
    in_full = [each["name"] for each in literals if "..Default::default()" not in each["fields"]]
    assert not in_full
