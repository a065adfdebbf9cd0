"""`croupier schema`: writes the schemas of the API, for compilers of other languages."""

import argparse
from importlib import resources
from pathlib import Path

import wire
from cli.arguments import CommandError, Commands, declare
from croupier.files import write_whole
from wire.games import PACKAGED, Messages

OPTIONS = """
--output DIR
    the directory; made if it is not there
--plain
    leave out the rules of fields and the annotations, as PHP needs it. The messages are the same
    on the wire, and the server checks the rules in any case
--descriptor-set FILE
    also, or only, write all schemas with their imports and comments as one
    google.protobuf.FileDescriptorSet, as for grpcurl -protoset or buf
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "schema",
        help="write the schemas of the API, for compilers of other languages",
        description="Writes the schemas (.proto files) that this version speaks. They are "
        "complete for protoc without a network: what they import is written too, and google/rpc/, "
        "the details of errors. With --plain ours import nothing but google/protobuf/, which "
        "protoc has, and those of installed games are left out.",
        epilog="For example: croupier schema --plain --output schemas && "
        "protoc -I schemas --java_out=src schemas/croupier/v1/*.proto",
    )
    declare(parser, OPTIONS)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Writes what was asked for, and says what."""
    if chosen.output is None and chosen.descriptor_set is None:
        raise CommandError("give --output or --descriptor-set")
    form = "plain" if chosen.plain else "full"
    with resources.as_file(resources.files("croupier.v1") / "schemas") as shipped:
        if chosen.output is not None:
            paths = sorted((shipped / form).rglob("*.proto"))
            for path in paths:
                copy(path, chosen.output / path.relative_to(shipped / form))
            added = 0 if chosen.plain else copy_packaged(chosen.output)
            print(f"{len(paths) + added} schemas in {chosen.output}")
        if chosen.descriptor_set is not None:
            # Sets of descriptors that follow one another are one set.
            sets = [(shipped / f"{form}.binpb").read_bytes()]
            sets += [messages.own_schema for messages in packaged()]
            chosen.descriptor_set.parent.mkdir(parents=True, exist_ok=True)
            write_whole(chosen.descriptor_set, b"".join(sets))
            print(f"their descriptors in {chosen.descriptor_set}")
    return 0


def packaged() -> list[Messages]:
    """Returns the messages of the games that have schemas of their own."""
    every = map(wire.messages, wire.hosted_games())
    return [messages for messages in every if messages.field == PACKAGED]


def copy_packaged(output: Path) -> int:
    """Copies the schemas of installed games; returns how many there are."""
    found = packaged()
    for messages in found:
        name = messages.file.name
        package, _, file = name.rpartition("/")
        with resources.as_file(resources.files(package.replace("/", ".")) / file) as path:
            copy(path, output / name)
    return len(found)


def copy(source: Path, target: Path) -> None:
    """Copies the content of a file, to a folder that may not be there yet."""
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, source.read_bytes())
