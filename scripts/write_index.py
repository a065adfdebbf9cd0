"""Make a folder that pip installs the packages of a release from, served as it is (PEP 503).

python3 scripts/write_index.py DIST INDEX

DIST has wheels and sdists. INDEX, which is written anew, holds copies of them under
INDEX/simple/<distribution>/, each folder with a page that names them with their hashes. Any server
of files will do: `python3 -m http.server --directory INDEX`, and then
`pip install --extra-index-url http://127.0.0.1:8000/simple/ croupier-server`.
"""

import hashlib
import re
import shutil
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from html import escape
from pathlib import Path

PAGE = '<!doctype html>\n<meta name="pypi:repository-version" content="1.0">\n<title>{}</title>\n{}'


def main() -> None:
    """Writes the index."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    packages, index = map(Path, sys.argv[1:])
    files = sorted([*packages.glob("*.whl"), *packages.glob("*.tar.gz")])
    if not files:
        sys.exit(f"write_index: there are no packages in {packages}")
    shutil.rmtree(index, ignore_errors=True)
    links: dict[str, list[str]] = {}
    for file in files:
        described = HeaderParser().parsestr(metadata(file))
        name = re.sub(r"[-_.]+", "-", described["Name"]).lower()
        folder = index / "simple" / name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, folder)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        needed = escape(described["Requires-Python"])
        links.setdefault(name, []).append(
            f'<a href="{file.name}#sha256={digest}" data-requires-python="{needed}">{file.name}</a>'
        )
    write_page(index / "simple", "Packages", [f'<a href="{each}/">{each}</a>' for each in links])
    for name, each in links.items():
        write_page(index / "simple" / name, name, each)
    print(f"Wrote {index}/simple/ with {', '.join(links)}.")


def metadata(file: Path) -> str:
    """What a wheel or an sdist says of itself."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            [name] = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
            return wheel.read(name).decode()
    with tarfile.open(file) as archive:
        member = archive.extractfile(f"{file.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert member is not None
        return member.read().decode()


def write_page(folder: Path, title: str, links: list[str]) -> None:
    """Writes the page of a folder."""
    text = PAGE.format(title, "".join(f"{link}<br>\n" for link in links))
    (folder / "index.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
