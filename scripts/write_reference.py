"""Write the reference of the API as Markdown, from the schemas and their comments.

    .venv/bin/python scripts/write_reference.py --output build/reference

Writes one page for each schema file, and index.md, which lists all services, messages and enums.
Each type links to where it is described.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.api import field_behavior_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

from buf.validate import validate_pb2
from cli.schema import OURS, read_schemas

# The pages in the order in which a client programmer reads them; further files come after them.
ORDER = ("match", "game", "hint", "catalog", "clock", "error")
GOOGLES = "https://protobuf.dev/reference/protobuf/google.protobuf/#"
MAX_RULES = 80  # Characters.
_RULES: Any = validate_pb2.field
_MESSAGES, _ENUMS, _SERVICES, _FIELDS, _NESTED, _NESTED_ENUMS = 4, 5, 6, 2, 3, 4


class Page(NamedTuple):
    """One file of the schema."""

    name: str  # Such as "match.md".
    file: FileDescriptorProto


class Reference:
    """The reference of all files of the schema."""

    def __init__(self, files: Sequence[FileDescriptorProto]) -> None:
        ours = {Path(file.name).stem: file for file in files if file.name.startswith(OURS)}
        order = [*(stem for stem in ORDER if stem in ours), *sorted(ours.keys() - set(ORDER))]
        self.pages = [Page(f"{stem}.md", ours[stem]) for stem in order]
        # The page of each message and enum, by its full name with a dot before it.
        self._places = {name: page.name for page in self.pages for name in _type_names(page.file)}

    def write(self, directory: Path) -> None:
        """Writes all pages."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "index.md").write_text(_text(self._index()), encoding="utf-8")
        for page in self.pages:
            writer = _PageWriter(page, self._places)
            (directory / page.name).write_text(_text(writer.lines()), encoding="utf-8")

    def _index(self) -> Iterator[str]:
        yield "# Reference of the API"
        yield ""
        yield "All services, messages and enums of `croupier.v1`, from the comments of the schemas."
        for page in self.pages:
            yield ""
            yield f"## [{page.file.name}]({page.name})"
            comments = _comments(page.file)
            for kind, number, name in _top_level(page.file):
                if kind == _SERVICES:
                    service = page.file.service[number]
                    methods = (
                        _link(method.name, f"{page.name}#{_anchor(f'{name}.{method.name}')}")
                        for method in service.method
                    )
                    yield f"- {_link(name, f'{page.name}#{_anchor(name)}')}: {', '.join(methods)}"
                else:
                    first = _first_sentence(comments.get((kind, number), ""))
                    yield f"- {_link(name, f'{page.name}#{_anchor(name)}')}: {first}"


class _PageWriter:
    """Writes the page of one file."""

    def __init__(self, page: Page, places: dict[str, str]) -> None:
        self._page = page
        self._file = page.file
        self._places = places
        self._comments = _comments(page.file)

    def lines(self) -> Iterator[str]:
        yield f"# {self._file.name}"
        yield ""
        yield "[All of the reference](index.md)"
        for kind, number, _ in _top_level(self._file):
            path = (kind, number)
            if kind == _SERVICES:
                yield from self._service(self._file.service[number], path)
            elif kind == _ENUMS:
                yield from self._enum(self._file.enum_type[number], path, "")
            else:
                yield from self._message(self._file.message_type[number], path, "")

    def _service(self, service: ServiceDescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
        yield from self._heading(2, service.name, path)
        for number, method in enumerate(service.method):
            name = f"{service.name}.{method.name}"
            yield from self._heading(3, name, (*path, 2, number))
            yield ""
            stream = "a stream of " if method.server_streaming else ""
            asks, answers = self._type(method.input_type), self._type(method.output_type)
            yield f"Request: {asks}. Response: {stream}{answers}."

    def _message(
        self, message: DescriptorProto, path: tuple[int, ...], outer: str
    ) -> Iterator[str]:
        name = f"{outer}{message.name}"
        yield from self._heading(3 if outer else 2, name, path)
        if message.field:
            yield ""
            yield "| field | type | |"
            yield "|---|---|---|"
            for number, field in enumerate(message.field):
                yield self._field(message, field, (*path, _FIELDS, number))
        for number, enum in enumerate(message.enum_type):
            yield from self._enum(enum, (*path, _NESTED_ENUMS, number), f"{name}.")
        for number, nested in enumerate(message.nested_type):
            yield from self._message(nested, (*path, _NESTED, number), f"{name}.")

    def _field(
        self, message: DescriptorProto, field: FieldDescriptorProto, path: tuple[int, ...]
    ) -> str:
        about = []
        behaviors = field.options.Extensions[field_behavior_pb2.field_behavior]
        words = [field_behavior_pb2.FieldBehavior.Name(each) for each in behaviors]
        about += [word.replace("_", " ").capitalize() for word in words if word != "OPTIONAL"]
        if field.HasField("oneof_index") and not field.proto3_optional:
            about.append(f"One of `{message.oneof_decl[field.oneof_index].name}`")
        rules = " ".join(str(field.options.Extensions[_RULES]).split())
        # The comment says in words what a long rule means.
        if rules not in ("", "required: true") and len(rules) <= MAX_RULES:
            about.append(f"`{_cell(rules)}`")
        text = _cell(self._comments.get(path, ""))
        notes = f" *{'; '.join(about)}.*" if about else ""
        kind = self._type(field.type_name) if field.type_name else f"`{_scalar(field)}`"
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            kind = f"repeated {kind}"
        return f"| `{field.name}` = {field.number} | {kind} | {text}{notes} |"

    def _enum(self, enum: EnumDescriptorProto, path: tuple[int, ...], outer: str) -> Iterator[str]:
        yield from self._heading(3 if outer else 2, f"{outer}{enum.name}", path)
        yield ""
        yield "| value | |"
        yield "|---|---|"
        for number, value in enumerate(enum.value):
            text = _cell(self._comments.get((*path, 2, number), ""))
            yield f"| `{value.name}` = {value.number} | {text} |"

    def _heading(self, level: int, name: str, path: tuple[int, ...]) -> Iterator[str]:
        yield ""
        yield f"{'#' * level} {name}"
        text = self._comments.get(path, "")
        if text:
            yield ""
            yield _paragraphs(text)

    def _type(self, name: str) -> str:
        page = self._places.get(name)
        if page is None:
            short = name.removeprefix(".google.protobuf.")
            return _link(f"google.protobuf.{short}", f"{GOOGLES}{short.lower()}")
        short = name.removeprefix(f".{self._file.package}.")
        target = f"#{_anchor(short)}"
        return _link(short, target if page == self._page.name else f"{page}{target}")


def _comments(file: FileDescriptorProto) -> dict[tuple[int, ...], str]:
    return {
        tuple(location.path): location.leading_comments
        for location in file.source_code_info.location
        if location.leading_comments
    }


def _top_level(file: FileDescriptorProto) -> list[tuple[int, int, str]]:
    # The kind, number and name of what is in a file: services first, then as in the file.
    lines = {tuple(each.path): each.span[0] for each in file.source_code_info.location}
    types = [(_MESSAGES, number, each.name) for number, each in enumerate(file.message_type)]
    types += [(_ENUMS, number, each.name) for number, each in enumerate(file.enum_type)]
    types.sort(key=lambda each: lines[each[:2]])
    return [*((_SERVICES, number, each.name) for number, each in enumerate(file.service)), *types]


def _type_names(file: FileDescriptorProto) -> Iterator[str]:
    def nested(message: DescriptorProto, prefix: str) -> Iterator[str]:
        name = f"{prefix}.{message.name}"
        yield name
        yield from (f"{name}.{enum.name}" for enum in message.enum_type)
        for each in message.nested_type:
            yield from nested(each, name)

    for message in file.message_type:
        yield from nested(message, f".{file.package}")
    yield from (f".{file.package}.{enum.name}" for enum in file.enum_type)


def _anchor(name: str) -> str:
    # That of a heading, as GitHub and MkDocs make it.
    return re.sub(r"[^\w-]", "", name.lower())


def _link(text: str, target: str) -> str:
    return f"[{text}]({target})"


def _scalar(field: FieldDescriptorProto) -> str:
    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def _paragraphs(comment: str) -> str:
    # A comment as Markdown: a list, and the errors of a method, are paragraphs of their own.
    lines = [line.removeprefix(" ") for line in comment.rstrip().splitlines()]
    text = re.sub(r"(?m)^(?!- |  )(.*\n)(?=- )", r"\1\n", _escaped("\n".join(lines)))
    return re.sub(r"(?m)(?<!\n)\n(?=Errors: )", "\n\n", text)


def _cell(comment: str) -> str:
    return _escaped(" ".join(comment.split())).replace("|", "\\|")


def _escaped(text: str) -> str:
    # An angle bracket begins no tag here.
    return text.replace("<", "&lt;")


def _first_sentence(comment: str) -> str:
    text = _cell(comment)
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0].rstrip(":")


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes the reference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("build/reference"), help="the directory (%(default)s)"
    )
    output = parser.parse_args().output
    Reference(read_schemas()).write(output)
    print(f"the reference is in {output}")


if __name__ == "__main__":
    main()
