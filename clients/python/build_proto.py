"""The command of setuptools that generates the stubs from the schemas, for both distributions."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Command

VALIDATE = "buf/validate/validate.proto"
DESCRIPTORS = "croupier/v1/schemas.binpb"  # Of all schemas, with comments: for `croupier schema`.


class BuildProto(Command):
    """Compile proto/ with protoc, so that no generated file is in git.

    The path of a schema under proto/ is the package of its stubs.
    """

    description = "generate the protobuf and gRPC stubs"
    user_options = [
        ("build-lib=", "d", "directory to write to"),
        ("inplace", "i", "write beside the sources instead"),
    ]
    boolean_options = ["inplace"]

    def initialize_options(self) -> None:
        self.build_lib = None
        self.inplace = False
        self.editable_mode = False

    def finalize_options(self) -> None:
        self.set_undefined_options("build", ("build_lib", "build_lib"))

    def run(self) -> None:
        # Beside the sources is beside the folder that croupier/ may be a link to.
        beside = Path("croupier").resolve().parent
        out = beside if self.inplace or self.editable_mode else Path(self.build_lib)
        (out / "croupier/v1").mkdir(parents=True, exist_ok=True)
        for stale in (out / "croupier/v1").glob("*_pb2*"):
            stale.unlink()
        outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        outputs += [f"--descriptor_set_out={out / DESCRIPTORS}"]
        outputs += ["--include_imports", "--include_source_info"]
        protoc(*outputs, *schemas(), VALIDATE)

    def get_source_files(self) -> list[str]:
        return [f"proto/{name}" for name in schemas()]

    def get_outputs(self) -> list[str]:
        names = [*schemas(), VALIDATE]
        stems = [f"{self.build_lib}/{name.removesuffix('.proto')}" for name in names]
        stubs = [stem + end for stem in stems for end in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")]
        return [*stubs, f"{self.build_lib}/{DESCRIPTORS}"]

    def get_output_mapping(self) -> dict[str, str]:
        if not self.editable_mode:
            return {}
        return {path: os.path.relpath(path, self.build_lib) for path in self.get_outputs()}


def schemas() -> list[str]:
    """Return the paths of the schemas under proto/."""
    paths = sorted(path.relative_to("proto") for path in Path("proto").rglob("*.proto"))
    return [path.as_posix() for path in paths]


def protoc(*arguments: str) -> None:
    """Run protoc; raise CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        dependencies = Path(folder, "dependencies.binpb")
        dependencies.write_bytes(imported_descriptors())
        command = [sys.executable, "-m", "grpc_tools.protoc", "-Iproto"]
        command += [f"--descriptor_set_in={dependencies}"]
        subprocess.run([*command, *arguments], check=True)


def imported_descriptors() -> bytes:
    """Return a FileDescriptorSet of the schemas that ours import, and of what those import.

    The package protovalidate ships its schema compiled, not as source; any of its messages leads to
    it. The others are in googleapis-common-protos.
    """
    from google.api import field_behavior_pb2, resource_pb2
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from protovalidate import ViolationPb

    file = ViolationPb.desc().file
    assert file.name == VALIDATE, f"protovalidate has moved its schema to {file.name}"
    descriptors = FileDescriptorSet()
    for each in (*file.dependencies, file):
        descriptors.file.add().ParseFromString(each.proto.to_binary())
    for module in (field_behavior_pb2, resource_pb2):  # Both import only descriptor.proto.
        descriptors.file.add().ParseFromString(module.DESCRIPTOR.serialized_pb)
    return descriptors.SerializeToString()
