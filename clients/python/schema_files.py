"""The schemas with all that they import, in full and plain: what `croupier schema` copies."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

VALIDATE = "buf/validate/validate.proto"
# What our annotations come from, and what else we import. The details of errors (google/rpc/) are
# imported by no schema, but some languages have no package of them.
ANNOTATIONS = [f"google/api/{name}.proto" for name in ("field_behavior", "resource")]
ANNOTATIONS += ["google/protobuf/descriptor.proto"]
IMPORTED = [
    f"google/protobuf/{name}.proto" for name in ("any", "duration", "field_mask", "timestamp")
]
IMPORTED += [f"google/rpc/{name}.proto" for name in ("error_details", "status")]
# As `buf format` writes them: an import, an option with a name in parentheses, options of a field.
IMPORT = re.compile(r'^import "(?:buf|google/api)/.*\n', re.MULTILINE)
OPTION = re.compile(r"^ *option \((?:[^\n]*;|[^\n]*\{\n.*?^ *\};)\n", re.MULTILINE | re.DOTALL)
FIELD_OPTIONS = re.compile(r"^( *\w[^\n/]* = \d+) \[.*?\];$", re.MULTILINE | re.DOTALL)
MAX_NUMBER = 1 << 29  # One past the highest number of a field.


def schemas(folder: Path = Path("proto")) -> list[str]:
    """Return the paths of the schemas in a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.proto"))


def write_full(folder: Path) -> None:
    """Write the schemas and all that they import."""
    copy(schemas(), Path("proto"), folder)
    write_imported(folder)


def write_plain(folder: Path) -> None:
    """Write the schemas without annotations: all that they say about the wire stays the same."""
    copy(IMPORTED, None, folder)
    for name in schemas():
        text = Path("proto", name).read_text(encoding="utf-8")
        text = FIELD_OPTIONS.sub(r"\1;", OPTION.sub("", IMPORT.sub("", text)))
        write(folder / name, text)


def write_imported(folder: Path) -> None:
    """Write all that the schemas import."""
    copy([*IMPORTED, *ANNOTATIONS], None, folder)
    write(folder / VALIDATE, "\n".join(validate_lines()) + "\n")


def copy(names: list[str], source: Path | None, folder: Path) -> None:
    """Copy schemas from a folder, or else from the packages that have those of Google."""
    import google.rpc
    import grpc_tools

    sources = [Path(grpc_tools.__path__[0], "_proto"), Path(google.rpc.__path__[0]).parents[1]]
    for name in names:
        found = (each / name for each in ([source] if source else sources))
        write(folder / name, next(path for path in found if path.exists()).read_text("utf-8"))


def write(path: Path, text: str) -> None:
    """Write a file in a folder that may not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def validate_lines() -> Iterator[str]:
    """Return the lines of the schema of the field rules, from its descriptor.

    The package protovalidate ships it compiled, not as source; any of its messages leads to it.
    """
    from google.protobuf import descriptor_pool, duration_pb2, field_mask_pb2, timestamp_pb2
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from protovalidate import ViolationPb

    descriptor = ViolationPb.desc().file
    assert descriptor.name == VALIDATE, f"protovalidate has moved its schema to {descriptor.name}"
    compiled = descriptor.proto.to_binary()
    # Its options use what it defines itself, so it has to be known before it is read.
    assert duration_pb2 and field_mask_pb2 and timestamp_pb2
    descriptor_pool.Default().AddSerializedFile(compiled)
    file = FileDescriptorProto.FromString(compiled)
    yield "// From github.com/bufbuild/protovalidate (Apache License 2.0), without its comments."
    yield f'syntax = "proto2";\npackage {file.package};'
    yield from (f'import "{name}";' for name in file.dependency)
    yield from (f"option {option};" for option in assignments(file.options))
    for message in file.message_type:
        yield from message_lines(message)
    yield from enum_lines(file.enum_type)
    for field in file.extension:
        yield f"\nextend {field.extendee} {{\n{field_line(field)}\n}}"


def message_lines(message: Any) -> Iterator[str]:
    """Return the lines of a message."""
    yield f"\nmessage {message.name} {{"
    yield from (f"  option {option};" for option in assignments(message.options))
    yield from reserved_lines(message, 1)
    for each in message.extension_range:
        yield f"  extensions {span(each.start, each.end - 1)};"
    for nested in message.nested_type:
        yield from message_lines(nested)
    yield from enum_lines(message.enum_type)
    for index, fields in groupby(message.field, oneof_index):
        lines = [field_line(field) for field in fields]
        if index is not None:
            oneof = message.oneof_decl[index]
            options = [f"    option {option};" for option in assignments(oneof.options)]
            lines = [f"  oneof {oneof.name} {{", *options, *(f"  {line}" for line in lines), "  }"]
        yield from lines
    yield "}"


def oneof_index(field: Any) -> int | None:
    """Return which oneof a field is in, if any."""
    return field.oneof_index if field.HasField("oneof_index") else None


def field_line(field: Any) -> str:
    """Return the line of a field."""
    kind = field.type_name or field.Type.Name(field.type).removeprefix("TYPE_").lower()
    label = field.Label.Name(field.label).removeprefix("LABEL_").lower()
    label = "" if oneof_index(field) is not None else f"{label} "
    options = ", ".join(assignments(field.options))
    return f"  {label}{kind} {field.name} = {field.number}{options and f' [{options}]'};"


def enum_lines(enums: Any) -> Iterator[str]:
    """Return the lines of enums."""
    for enum in enums:
        yield f"\nenum {enum.name} {{"
        yield from reserved_lines(enum, 0)
        yield from (f"  {value.name} = {value.number};" for value in enum.value)
        yield "}"


def reserved_lines(definition: Any, past: int) -> Iterator[str]:
    """Return the lines of what is reserved; the end of a range is `past` its last number."""
    for each in definition.reserved_range:
        yield f"  reserved {span(each.start, each.end - past)};"
    for name in definition.reserved_name:
        yield f'  reserved "{name}";'


def span(first: int, last: int) -> str:
    """Return a range of numbers."""
    return f"{first} to {'max' if last == MAX_NUMBER - 1 else last}"


def assignments(options: Any) -> Iterator[str]:
    """Return each option with its value."""
    from google.protobuf import text_format

    for field, value in options.ListFields():
        name = f"({field.full_name})" if field.is_extension else field.name
        for each in value if field.is_repeated else [value]:
            writer = text_format.TextWriter(as_utf8=True)
            text_format.PrintFieldValue(field, each, writer, as_one_line=True, as_utf8=True)
            yield f"{name} = {writer.getvalue().strip()}"
