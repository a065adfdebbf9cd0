"""Writes the descriptors of schemas as .proto files, with their comments and options.

A compiler reads from a written file what it reads from the original one. `protoc` has no such
printer, and protovalidate ships its schema compiled only.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from google.api import field_behavior_pb2 as field_behavior_pb2
from google.api import resource_pb2 as resource_pb2
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

# Imported for their extensions, which would be unknown fields of the options otherwise.
from buf.validate import validate_pb2 as validate_pb2

WIDTH = 100
_INDENT = "  "
_MAX_NUMBER = 536870912  # One past the highest number of a field: "max" in a range.
_ENUM_MAX = 2147483647
# Field numbers in descriptor.proto, of which the paths of comments consist.
_MESSAGES, _ENUMS, _SERVICES, _EXTENSIONS = 4, 5, 6, 7
_FIELDS, _NESTED, _NESTED_ENUMS, _ONEOFS, _NESTED_EXTENSIONS = 2, 3, 4, 8, 6
_VALUES, _METHODS = 2, 2
_PACKAGE = 2

_Path = tuple[int, ...]


def read_files(data: bytes) -> list[FileDescriptorProto]:
    """Returns the files of a serialized FileDescriptorSet, with the options that we know."""
    return list(FileDescriptorSet.FromString(data).file)


def strip(files: Iterable[FileDescriptorProto]) -> list[FileDescriptorProto]:
    """Returns the files without the options that other files define, and without those files.

    What they say about the wire stays the same.
    """
    kept = []
    for file in files:
        if _defines_options(file.name):
            continue
        plain = FileDescriptorProto()
        plain.CopyFrom(file)
        assert not (plain.public_dependency or plain.weak_dependency), file.name
        imports = [name for name in file.dependency if not _defines_options(name)]
        plain.dependency[:] = imports
        _clear_extensions(plain)
        kept.append(plain)
    used = {name for file in kept for name in file.dependency}
    return [file for file in kept if file.name in used or not _is_googles(file.name)]


def write_file(file: FileDescriptorProto, note: str = "") -> str:
    """Returns a file as text; `note` is a comment for its beginning."""
    return "\n".join(_Writer(file).lines(note)) + "\n"


def _clear_extensions(message: Message) -> None:
    # Of the message and of all that is in it.
    for field, value in message.ListFields():
        if field.is_extension:
            message.ClearExtension(cast(Any, field))
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in value if field.is_repeated else [value]:
                _clear_extensions(each)
            if field.name == "options" and not value.ListFields():
                message.ClearField(field.name)


class _Writer:
    """Writes one file."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._proto2 = file.syntax in ("", "proto2")
        self._comments = {
            tuple(location.path): location for location in file.source_code_info.location
        }

    def lines(self, note: str) -> Iterator[str]:
        file = self._file
        if file.syntax not in ("", "proto2", "proto3"):
            raise ValueError(f"{file.name}: cannot write the syntax {file.syntax!r}")
        if note:
            yield from (f"// {line}" for line in note.splitlines())
            yield ""
        yield f'syntax = "{file.syntax or "proto2"}";'
        yield ""
        yield from self._comment((_PACKAGE,), 0)
        yield f"package {file.package};"
        if file.dependency:
            yield ""
        for number, name in enumerate(file.dependency):
            kind = "public " if number in file.public_dependency else ""
            yield f'import {kind}"{name}";'
        options = list(self._options(file.options))
        if options:
            yield ""
        yield from (f"option {option};" for option in options)
        for path in sorted(self._definitions(), key=self._line):
            yield ""
            yield from self._definition(path)
        yield from self._extensions(file.extension, (_EXTENSIONS,), 0, f".{file.package}")

    def _definitions(self) -> Iterator[_Path]:
        # What is defined in the file, and not within a message.
        yield from ((_SERVICES, number) for number in range(len(self._file.service)))
        yield from ((_MESSAGES, number) for number in range(len(self._file.message_type)))
        yield from ((_ENUMS, number) for number in range(len(self._file.enum_type)))

    def _line(self, path: _Path) -> int:
        location = self._comments.get(path)
        return location.span[0] if location is not None else 0

    def _definition(self, path: _Path) -> Iterator[str]:
        kind, number = path
        if kind == _SERVICES:
            yield from self._service(self._file.service[number], path)
        elif kind == _ENUMS:
            yield from self._enum(self._file.enum_type[number], path, 0)
        else:
            message = self._file.message_type[number]
            yield from self._message(message, path, 0, f".{self._file.package}.{message.name}")

    # Comments

    def _comment(self, path: _Path, depth: int) -> Iterator[str]:
        location = self._comments.get(path)
        if location is None:
            return
        indent = _INDENT * depth
        for detached in location.leading_detached_comments:
            yield from _comment_lines(detached, indent)
            yield ""
        yield from _comment_lines(location.leading_comments + location.trailing_comments, indent)

    # Messages

    def _message(
        self, message: DescriptorProto, path: _Path, depth: int, scope: str
    ) -> Iterator[str]:
        indent, inner = _INDENT * depth, _INDENT * (depth + 1)
        yield from self._comment(path, depth)
        body = list(self._message_body(message, path, depth + 1, scope, inner))
        if body:
            yield f"{indent}message {message.name} {{"
            yield from body
            yield f"{indent}}}"
        else:
            yield f"{indent}message {message.name} {{}}"

    def _message_body(
        self, message: DescriptorProto, path: _Path, depth: int, scope: str, indent: str
    ) -> Iterator[str]:
        yield from (f"{indent}option {each};" for each in self._options(message.options))
        ranges = [
            _range(each.start, each.end - 1, _MAX_NUMBER - 1) for each in message.reserved_range
        ]
        yield from _reserved(ranges, message.reserved_name, indent)
        for extensible in message.extension_range:
            last = extensible.end - 1
            yield f"{indent}extensions {_range(extensible.start, last, _MAX_NUMBER - 1)};"
        opened: set[int] = set()
        for number, field in enumerate(message.field):
            if not _in_oneof(field):
                yield from self._field(field, (*path, _FIELDS, number), depth, scope, message)
            elif field.oneof_index not in opened:
                opened.add(field.oneof_index)
                yield from self._oneof(message, field.oneof_index, path, depth, scope)
        maps = {entry.name for entry in message.nested_type if entry.options.map_entry}
        for number, enum in enumerate(message.enum_type):
            yield ""
            yield from self._enum(enum, (*path, _NESTED_ENUMS, number), depth)
        for number, nested in enumerate(message.nested_type):
            if nested.name not in maps:
                yield ""
                where = (*path, _NESTED, number)
                yield from self._message(nested, where, depth, f"{scope}.{nested.name}")
        yield from self._extensions(message.extension, (*path, _NESTED_EXTENSIONS), depth, scope)

    def _oneof(
        self, message: DescriptorProto, index: int, path: _Path, depth: int, scope: str
    ) -> Iterator[str]:
        indent = _INDENT * depth
        oneof = message.oneof_decl[index]
        yield from self._comment((*path, _ONEOFS, index), depth)
        yield f"{indent}oneof {oneof.name} {{"
        for option in self._options(oneof.options):
            yield f"{indent}{_INDENT}option {option};"
        for number, field in enumerate(message.field):
            if _in_oneof(field) and field.oneof_index == index:
                where = (*path, _FIELDS, number)
                yield from self._field(field, where, depth + 1, scope, message)
        yield f"{indent}}}"

    def _field(
        self,
        field: FieldDescriptorProto,
        path: _Path,
        depth: int,
        scope: str,
        message: DescriptorProto | None = None,
    ) -> Iterator[str]:
        yield from self._comment(path, depth)
        begin = f"{self._type(field, scope, message)} {field.name} = {field.number}"
        options = list(self._options(field.options))
        if field.HasField("default_value"):
            options.insert(0, f"default = {_default(field)}")
        if field.HasField("json_name") and field.json_name != _camel(field.name):
            options.insert(0, f"json_name = {_quoted(field.json_name)}")
        yield from _with_options(begin, options, _INDENT * depth)

    def _type(
        self, field: FieldDescriptorProto, scope: str, message: DescriptorProto | None
    ) -> str:
        for entry in message.nested_type if message is not None else ():
            if entry.options.map_entry and field.type_name == f"{scope}.{entry.name}":
                key, value = (self._type(each, scope, None) for each in entry.field)
                return f"map<{key}, {value.removeprefix('optional ')}>"
        name = self._name(field.type_name, scope) if field.type_name else _scalar(field)
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return f"repeated {name}"
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return f"required {name}"
        optional = field.proto3_optional or (self._proto2 and not _in_oneof(field))
        return f"optional {name}" if optional else name

    def _name(self, name: str, scope: str) -> str:
        # As short as it can be: relative to the message in which it is used, or to the package.
        for outer in (scope, f".{self._file.package}"):
            if name.startswith(f"{outer}."):
                return name.removeprefix(f"{outer}.")
        return name.removeprefix(".")

    def _extensions(
        self, fields: Iterable[FieldDescriptorProto], path: _Path, depth: int, scope: str
    ) -> Iterator[str]:
        indent = _INDENT * depth
        extended = ""
        for number, field in enumerate(fields):
            if field.extendee != extended:
                if extended:
                    yield f"{indent}}}"
                extended = field.extendee
                yield ""
                yield f"{indent}extend {self._name(extended, scope)} {{"
            yield from self._field(field, (*path, number), depth + 1, scope)
        if extended:
            yield f"{indent}}}"

    # Enums and services

    def _enum(self, enum: EnumDescriptorProto, path: _Path, depth: int) -> Iterator[str]:
        indent, inner = _INDENT * depth, _INDENT * (depth + 1)
        yield from self._comment(path, depth)
        yield f"{indent}enum {enum.name} {{"
        yield from (f"{inner}option {option};" for option in self._options(enum.options))
        ranges = [_range(each.start, each.end, _ENUM_MAX) for each in enum.reserved_range]
        yield from _reserved(ranges, enum.reserved_name, inner)
        for number, value in enumerate(enum.value):
            yield from self._comment((*path, _VALUES, number), depth + 1)
            options = list(self._options(value.options))
            yield from _with_options(f"{value.name} = {value.number}", options, inner)
        yield f"{indent}}}"

    def _service(self, service: ServiceDescriptorProto, path: _Path) -> Iterator[str]:
        yield from self._comment(path, 0)
        yield f"service {service.name} {{"
        yield from (f"{_INDENT}option {option};" for option in self._options(service.options))
        for number, method in enumerate(service.method):
            yield from self._comment((*path, _METHODS, number), 1)
            yield from self._method(method)
        yield "}"

    def _method(self, method: MethodDescriptorProto) -> Iterator[str]:
        scope = f".{self._file.package}"
        asks = "stream " * method.client_streaming + self._name(method.input_type, scope)
        answers = "stream " * method.server_streaming + self._name(method.output_type, scope)
        begin = f"{_INDENT}rpc {method.name}({asks}) returns ({answers})"
        options = list(self._options(method.options))
        if not options:
            yield f"{begin};"
            return
        yield f"{begin} {{"
        yield from (f"{_INDENT * 2}option {option};" for option in options)
        yield f"{_INDENT}}}"

    # Options

    def _options(self, options: Message) -> Iterator[str]:
        for field, value in options.ListFields():
            if field.name == "map_entry":  # It follows from the type of the field.
                continue
            name = f"({field.full_name})" if field.is_extension else str(field.name)
            for each in value if field.is_repeated else [value]:
                yield from _assignments(name, field, each)


def _defines_options(name: str) -> bool:
    return name.startswith(("buf/", "google/api/"))


def _is_googles(name: str) -> bool:
    return name.startswith("google/protobuf/")


def _in_oneof(field: FieldDescriptorProto) -> bool:
    return field.HasField("oneof_index") and not field.proto3_optional


def _comment_lines(text: str, indent: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"{indent}//{line}".rstrip()


def _range(first: int, last: int, most: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last == most else last}"


def _reserved(ranges: list[str], names: Iterable[str], indent: str) -> Iterator[str]:
    if ranges:
        yield f"{indent}reserved {', '.join(ranges)};"
    quoted = [_quoted(name) for name in names]
    if quoted:
        yield f"{indent}reserved {', '.join(quoted)};"


def _with_options(begin: str, options: list[str], indent: str) -> Iterator[str]:
    line = f"{indent}{begin} [{', '.join(options)}];" if options else f"{indent}{begin};"
    if len(options) <= 1 and (not options or len(line) <= WIDTH):
        yield line
        return
    yield f"{indent}{begin} ["
    for number, option in enumerate(options, 1):
        yield f"{indent}{_INDENT}{option}{',' if number < len(options) else ''}"
    yield f"{indent}];"


def _assignments(name: str, field: FieldDescriptor, value: Any) -> Iterator[str]:
    # One assignment for each leaf, where each can be named; else one of the whole message.
    if field.type != FieldDescriptor.TYPE_MESSAGE:
        yield f"{name} = {_literal(field, value)}"
        return
    leaves = None if field.is_repeated else list(_leaves(name, value))
    if leaves is None or None in leaves:
        yield f"{name} = {{{text_format.MessageToString(value, as_one_line=True)}}}"
    else:
        yield from (leaf for leaf in leaves if leaf is not None)


def _leaves(path: str, message: Message) -> Iterator[str | None]:
    # None stands for what has no name of its own: an item of a list, or an empty message.
    fields = message.ListFields()
    if not fields:
        yield None
    for field, value in fields:
        if field.is_repeated:
            yield None
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            yield from _leaves(f"{path}.{field.name}", value)
        else:
            yield f"{path}.{field.name} = {_literal(field, value)}"


def _literal(field: FieldDescriptor, value: Any) -> str:
    if field.type == FieldDescriptor.TYPE_ENUM:
        assert field.enum_type is not None
        return str(field.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bytes):
        return _quoted(value.decode("latin-1"))
    return repr(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _default(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_STRING:
        return _quoted(field.default_value)
    return field.default_value


def _scalar(field: FieldDescriptorProto) -> str:
    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def _camel(name: str) -> str:
    # The name of a field in JSON, if it is not given.
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
