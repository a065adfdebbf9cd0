"""Packs clients/csharp/ as the archive that Unity's package manager installs.

    python scripts/pack_unity.py FOLDER

Writes com.croupier.client-VERSION.tgz. Unity leaves out each file of an archive that has no `.meta`
file beside it, so each gets one, with an id that follows from its path. Equal sources give equal
files, whose times are SOURCE_DATE_EPOCH (default: the date of the last commit).
"""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import uuid
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "clients/csharp"
SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "croupier/clients/csharp")
IMPORTERS = {".cs": "MonoImporter", ".asmdef": "AssemblyDefinitionImporter"}


def meta(path: str) -> bytes:
    """What Unity keeps of a file or a folder of the package."""
    suffix = Path(path).suffix
    importer = IMPORTERS.get(suffix, "TextScriptImporter" if suffix == ".md" else "DefaultImporter")
    if path == "package.json":
        importer = "PackageManifestImporter"
    folder = "folderAsset: yes\n" if (CLIENT / path).is_dir() else ""
    text = f"fileFormatVersion: 2\nguid: {uuid.uuid5(SPACE, path).hex}\n{folder}"
    return f"{text}{importer}:\n  externalObjects: {{}}\n  userData: \n".encode()


def contents() -> dict[str, bytes]:
    """The files of the archive by their paths in the package."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=CLIENT, check=True, capture_output=True, text=True
    )
    files = {path: (CLIENT / path).read_bytes() for path in listed.stdout.split("\0") if path}
    known = set(files).union(*(map(str, Path(path).parents) for path in files)) - {"."}
    # Unity does not look into what ends with a tilde.
    metas = {f"{path}.meta": meta(path) for path in known if "~" not in path}
    return {**files, **metas}


def main() -> None:
    """Writes the archive."""
    version = json.loads((CLIENT / "package.json").read_text())["version"]
    date = ["git", "log", "-1", "--format=%ct"]
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(date, cwd=ROOT)
    target = Path(sys.argv[1], f"com.croupier.client-{version}.tgz")
    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, int(seconds)) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path, content in sorted(contents().items()):
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size, entry.mtime = len(content), int(seconds)
            archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()
