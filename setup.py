"""What pyproject.toml cannot say: the Cython extensions and what is declared from the schemas.

The stubs belong to the client, a distribution of its own (clients/python). Its command build_proto
is here too, since the build of a checkout begins with it, and so are its archives.

Three switches in the environment, for `make coverage`, `make sanitize` and `make fuzz`:
BUILD_COVERAGE=1 counts how often each Cython line runs, nogil code included;
BUILD_SANITIZE=1 compiles with the address and undefined-behaviour sanitizers;
BUILD_FUZZ=1 reports each basic block and each comparison to a coverage-guided fuzzer.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent / "clients/python"))
sys.path.insert(0, str(Path(__file__).parent / "engine"))  # Its modules are not compiled yet.
from build_proto import BuildProto, protoc
from building import DIRECTIVES, FLAGS
from reproducible import Sdist
from schema_files import schemas

sys.path.pop(0)

COVERAGE = os.environ.get("BUILD_COVERAGE") == "1"
SANITIZE = os.environ.get("BUILD_SANITIZE") == "1"
FUZZ = os.environ.get("BUILD_FUZZ") == "1"
JOBS = 2

LINK_FLAGS: list[str] = []
MACROS: list[tuple[str, str | None]] = []
if COVERAGE:
    # gcov counts the lines in the compiled code. Cython's own tracing is a hundred times slower.
    LINK_FLAGS = ["--coverage"]
    FLAGS += ["-O1", "-fprofile-update=atomic", *LINK_FLAGS]
if SANITIZE:
    LINK_FLAGS = ["-fsanitize=address,undefined"]
    FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined", *LINK_FLAGS]
if FUZZ:
    # What the compiler calls is defined in tests/fuzz/block_counters.c.
    FLAGS += ["-O2", "-fsanitize-coverage=trace-pc,trace-cmp"]

FOLDERS = ["engine", "wire", "games", "ai", "lab"]  # Where extensions are.
if SANITIZE:
    FOLDERS.append("tests/planted")  # Faults that the sanitizers must report.
BUILT = "build/inplace"
DECLARATIONS = "build/declarations"  # Generated .pxd files; outside the sources, so never shipped.


def extensions() -> list[Extension]:
    """One extension for each .pyx; a new game needs no line here."""
    return [
        Extension(
            ".".join(path.with_suffix("").parts),
            [path.as_posix()],
            depends=["setup.py"],  # its flags
            define_macros=MACROS,
            extra_compile_args=FLAGS,
            extra_link_args=LINK_FLAGS,
        )
        for folder in FOLDERS
        for path in sorted(Path(folder).rglob("*.pyx"))
    ]


def remove_stale() -> None:
    """Remove what was built from sources that are gone: Python would prefer it to a .py."""
    for folder in FOLDERS:
        for built in Path(folder).rglob("*.so"):
            if not built.with_name(f"{built.name.partition('.')[0]}.pyx").exists():
                built.unlink()


class BuildExt(build_ext):
    """Translate with Cython in processes, then compile the C in threads."""

    def run(self) -> None:
        from Cython.Build import cythonize

        declare_field_numbers()
        translated = cythonize(
            self.extensions,
            include_path=[".", DECLARATIONS],
            nthreads=JOBS,
            force=self.force,
            compiler_directives=DIRECTIVES,
            emit_linenums=COVERAGE or SANITIZE,  # a report then names the line of the .pyx
            show_all_warnings=True,
        )
        for ours, theirs in zip(self.extensions, translated, strict=True):
            ours.sources = theirs.sources
        self.parallel = self.parallel or JOBS
        # Where setuptools builds depends on the command: a folder of our own is built once for all,
        # and keeps what has not changed.
        wanted = self.build_lib, self.build_temp
        self.build_lib = self.build_temp = BUILT
        if self.inplace:
            remove_stale()
        super().run()
        self.build_lib, self.build_temp = wanted
        for target in [] if self.inplace else self.get_outputs():
            source = Path(BUILT, Path(target).relative_to(self.build_lib))
            self.mkpath(str(Path(target).parent))
            self.copy_file(str(source), target)


def declare_field_numbers() -> None:
    """Declare the field numbers of each schema for Cython, in a module `<schema>_fields`.

    SIDE_HAND_SIZE is the number of the field hand_size of ChampionChessSide: names leave
    out that of the schema. A file that would not change is not written, so nothing is built again.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    descriptors = FileDescriptorSet()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "schemas.binpb")
        protoc(f"--descriptor_set_out={image}", *schemas())
        descriptors.ParseFromString(image.read_bytes())
    Path(DECLARATIONS).mkdir(parents=True, exist_ok=True)
    for file in descriptors.file:
        if not file.message_type:
            continue
        stem = Path(file.name).stem
        prefix = re.compile(stem.replace("_", ""), re.IGNORECASE)
        lines = [f"# The field numbers of {file.name}.", "cdef enum:"]
        for message in file.message_type:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", prefix.sub("", message.name, count=1))
            lines += [
                f"    {name}_{field.name}".upper() + f" = {field.number}" for field in message.field
            ]
        path = Path(DECLARATIONS, f"{stem}_fields.pxd")
        text = "\n".join([*lines, ""])
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildExt, "build_proto": BuildProto, "sdist": Sdist},
)
