"""`croupier schema`: writes the schemas of the API, for compilers of other languages."""

import argparse
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path

from google.protobuf import any_pb2, duration_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.rpc import error_details_pb2, status_pb2

from cli import proto_text
from cli.arguments import CommandError, Commands

OURS = "croupier/"
# No schema imports what the details of an error are. Some languages have no package of them.
_ERRORS = (any_pb2, duration_pb2, status_pb2, error_details_pb2)
_GOOGLEAPIS = "https://github.com/googleapis/googleapis (Apache License 2.0), without its comments"
_SOURCES = {
    "buf/": "https://github.com/bufbuild/protovalidate (Apache License 2.0), without its comments",
    "google/api/": _GOOGLEAPIS,
    "google/rpc/": _GOOGLEAPIS,
    # Most compilers come with these, but not that of Debian.
    "google/protobuf/": "https://github.com/protocolbuffers/protobuf (BSD 3-Clause License), "
    "without its comments",
}


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "schema",
        help="write the schemas of the API, for compilers of other languages",
        description="Writes the schemas (.proto files) that this version speaks. They are "
        "complete for protoc without a network: what they import is written too, and google/rpc/, "
        "the details of errors. With --plain ours import nothing but "
        "google/protobuf/duration.proto and timestamp.proto.",
        epilog="For example: croupier schema --plain --output schemas && "
        "protoc -I schemas --java_out=src schemas/croupier/v1/*.proto",
    )
    parser.add_argument(
        "--output", metavar="DIR", type=Path, help="the directory; made if it is not there"
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="leave out the rules of fields and the annotations, as PHP needs it. The messages are "
        "the same on the wire, and the server checks the rules in any case",
    )
    parser.add_argument(
        "--descriptor-set",
        metavar="FILE",
        type=Path,
        help="also, or only, write all schemas with their imports and comments as one "
        "google.protobuf.FileDescriptorSet, as for grpcurl -protoset or buf",
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Writes what was asked for, and says what."""
    if chosen.output is None and chosen.descriptor_set is None:
        raise CommandError("give --output or --descriptor-set")
    files = read_schemas()
    if chosen.plain:
        files = proto_text.strip(files)
    files += error_schemas(files)
    try:
        if chosen.output is not None:
            written = write_schemas(files, chosen.output)
            print(f"{len(written)} schemas in {chosen.output}")
        if chosen.descriptor_set is not None:
            chosen.descriptor_set.write_bytes(FileDescriptorSet(file=files).SerializeToString())
            print(f"their descriptors in {chosen.descriptor_set}")
    except OSError as error:
        raise CommandError(str(error)) from error
    return 0


def read_schemas() -> list[FileDescriptorProto]:
    """Returns all schemas and what they import, each after what it imports."""
    data = resources.files("croupier.v1").joinpath("schemas.binpb").read_bytes()
    return proto_text.read_files(data)


def error_schemas(known: Sequence[FileDescriptorProto]) -> list[FileDescriptorProto]:
    """Returns the schemas of the details of errors, without those that are known."""
    names = {file.name for file in known}
    return [
        FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        for module in _ERRORS
        if module.DESCRIPTOR.name not in names
    ]


def write_schemas(files: Sequence[FileDescriptorProto], directory: Path) -> list[Path]:
    """Writes files as text; returns their paths."""
    version = metadata.version("croupier")
    written = []
    for file in files:
        source = next(
            (where for begin, where in _SOURCES.items() if file.name.startswith(begin)), ""
        )
        note = f"From {source}." if source else f"From Croupier {version} (Apache License 2.0)."
        path = directory / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(proto_text.write_file(file, note), encoding="utf-8")
        written.append(path)
    return written
