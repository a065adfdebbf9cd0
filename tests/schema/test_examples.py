"""The examples keep building when a message of the schema gets a field."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "examples/rust/src/main.rs"
# No literal has another one in it.
LITERAL = re.compile(r"\b(\w+(?:Request|Config)) \{\s(.*?)\s\}", re.DOTALL)


def test_the_example_in_rust_names_no_message_in_full():
    # A Rust literal that names every field stops compiling when the message gets another one.
    literals = LITERAL.findall(SOURCE.read_text())
    assert len(literals) >= 8
    assert not [name for name, fields in literals if "..Default::default()" not in fields]
