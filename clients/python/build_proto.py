"""The command of setuptools that generates the stubs from the schemas, for both distributions."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from schema_files import VALIDATE, schemas, write_full, write_imported, write_plain
from setuptools import Command

SCHEMAS = "croupier/v1/schemas"  # What `croupier schema` copies.
WRITERS = {"full": write_full, "plain": write_plain}


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
        protoc(*outputs, *schemas(), VALIDATE)
        shutil.rmtree(out / SCHEMAS, ignore_errors=True)
        for form, write in WRITERS.items():
            folder = out / SCHEMAS / form
            write(folder)
            command = [f"-I{folder}", f"--descriptor_set_out={folder}.binpb"]
            command += ["--include_imports", "--include_source_info"]
            run_protoc(*command, *schemas(folder))

    def get_source_files(self) -> list[str]:
        return [f"proto/{name}" for name in schemas()]

    def get_outputs(self) -> list[str]:
        stems = [name.removesuffix(".proto") for name in (*schemas(), VALIDATE)]
        outputs = [stem + end for stem in stems for end in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")]
        for form, write in WRITERS.items():
            with tempfile.TemporaryDirectory() as folder:
                write(Path(folder))
                outputs += [f"{SCHEMAS}/{form}/{name}" for name in schemas(Path(folder))]
            outputs += [f"{SCHEMAS}/{form}.binpb"]
        return [f"{self.build_lib}/{path}" for path in outputs]

    def get_output_mapping(self) -> dict[str, str]:
        if not self.editable_mode:
            return {}
        return {path: os.path.relpath(path, self.build_lib) for path in self.get_outputs()}


def protoc(*arguments: str) -> None:
    """Run protoc on files under proto/; raise CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        write_imported(Path(folder))
        run_protoc("-Iproto", f"-I{folder}", *arguments)


def run_protoc(*arguments: str) -> None:
    """Run protoc; raise CalledProcessError if it fails."""
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *arguments], check=True)
