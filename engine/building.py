"""Builds the package of a game against this installation, from its setup.py.

    from engine.building import setup_game

    setup_game("german_whist")

The schema `german_whist/api/german_whist.proto` is compiled to `german_whist_pb2.py` beside it, and
each `.pyx` of the folder to an extension, by the flags by which this distribution was compiled. All
else about a distribution stands in its pyproject.toml, whose `[build-system]` requires setuptools,
croupier-server, grpcio-tools for a schema, and cython for a `.pyx`.
"""

import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

# No -march=native: one image runs on every machine. No contraction to fused multiply-add either:
# with it the same seed would give another hint on ARM than on x86.
# A game lays its own struct over the bytes of a state, which strict aliasing would forbid.
FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-fno-strict-aliasing"]
# Aligned, so that the speed of a short loop does not depend on where the linker happens to put it:
# an unlucky place made the search of Champion Chess 4 % slower.
FLAGS += ["-falign-functions=32", "-falign-loops=32"]
# Cython writes C that trips over these without being wrong.
FLAGS += ["-Wno-array-bounds", "-Wno-discarded-qualifiers", "-Wno-sign-compare"]
DIRECTIVES: dict[str, Any] = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
}
DATA = ("*.csv", "*.json", "*.proto", "*.pxd", "*.pyi", "*.toml", "web/*")


def include_path() -> str:
    """Returns the folder in which Cython finds the contract: `from engine.game cimport Game`."""
    return str(Path(__file__).parents[1])


def setup_game(folder: str) -> None:
    """Runs setuptools for a distribution that has one game, in a folder beside its setup.py."""
    from setuptools import Extension, setup

    compile_schema(Path(folder))
    sources = sorted(Path(folder).rglob("*.pyx"))
    extensions: list[Any] = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [path.as_posix()],
            extra_compile_args=FLAGS,
        )
        for path in sources
    ]
    if extensions:
        from Cython import Build

        cythonize: Any = Build.cythonize
        extensions = cythonize(
            extensions, include_path=[".", include_path()], compiler_directives=DIRECTIVES
        )
    setup(
        packages=sorted(".".join(path.parent.parts) for path in Path(folder).rglob("__init__.py")),
        package_data={"": list(DATA)},
        include_package_data=False,  # It would ship the generated C.
        ext_modules=extensions,
    )


def compile_schema(folder: Path) -> None:
    """Compiles the schema of a game, if it has one that has changed."""
    schema = folder / "api" / f"{folder.name}.proto"
    compiled = schema.with_name(f"{folder.name}_pb2.py")
    if not schema.exists():
        return
    if compiled.exists() and compiled.stat().st_mtime >= schema.stat().st_mtime:
        return
    with resources.as_file(resources.files("croupier.v1") / "schemas" / "full") as ours:
        command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"-I{ours}", "--python_out=."]
        subprocess.run([*command, schema.as_posix()], check=True)
