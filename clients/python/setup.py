"""What pyproject.toml cannot say: stubs from the schemas, archives that are reproducible."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build import build

sys.path.insert(0, str(Path(__file__).parent))
from build_proto import BuildProto
from reproducible import Sdist

# First, and a sub-command rather than a build_py of our own: an editable install would hide
# the failure of that one.
build.sub_commands.insert(0, ("build_proto", None))

setup(cmdclass={"build_proto": BuildProto, "sdist": Sdist})
