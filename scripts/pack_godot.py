"""Pack the addon for Godot in a folder as croupier-godot-VERSION.zip, which its editor installs.

    python3 scripts/pack_godot.py dist

Equal sources give equal bytes: the times in it are those of no file.
"""

import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "clients/godot"
FIRST = (1980, 1, 1, 0, 0, 0)  # The earliest time that a zip can hold.


def pack(folder: Path) -> Path:
    """Writes the archive; returns its path."""
    addon = PROJECT / "addons/croupier"
    found = re.search(r'^version="(.+)"$', (addon / "plugin.cfg").read_text(), re.MULTILINE)
    assert found
    sources = sorted(path for path in addon.iterdir() if path.suffix in (".gd", ".cfg"))
    archive = folder / f"croupier-godot-{found[1]}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in [*sources, ROOT / "LICENSE"]:
            name = f"addons/croupier/{path.name}"
            packed.writestr(zipfile.ZipInfo(name, FIRST), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


if __name__ == "__main__":
    print(f"Packed {pack(Path(sys.argv[1]))}.")
