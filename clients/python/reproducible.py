"""Archives that depend on the sources and SOURCE_DATE_EPOCH alone, for both distributions.

bdist_wheel does so by itself, but for the permissions of what a build generates, which depend on
the umask of whoever builds: importing this module sets it.
"""

import gzip
import os
import tarfile
import time
from pathlib import Path

from setuptools.command.sdist import sdist

os.umask(0o022)


class Sdist(sdist):
    """Writes .tar.gz files without owner, group, umask, time of the build and order of a folder."""

    def make_archive(
        self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None
    ) -> str:
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        when = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())

        def neutral(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = when
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=when) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            tar.add(base_dir, filter=neutral)  # Folders in the order of their names.
        return str(path)
