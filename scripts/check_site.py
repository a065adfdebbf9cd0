"""Check a built site: its links and anchors lead somewhere, and it loads nothing from elsewhere.

    .venv/bin/python scripts/check_site.py build/site

Reads the pages as a browser does: also those that were generated, the pictures and what the theme
adds. Prints a line for each fault, and exits with status 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, by the element and its attribute; people follow the other links.
LOADED = {
    ("audio", "src"),
    ("iframe", "src"),
    ("img", "src"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("video", "src"),
}
IN_STYLES = re.compile(r"""(?:url\(|@import )\s*["']?([^"')\s]+)""")


class Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {"", "__top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[key] or "" for key in ("id", "name") if key in given}
        for key, value in given.items():
            if (tag, key) in LOADED and given.get("rel") not in ("canonical", "next", "prev"):
                self.loads.append(value or "")
            elif (tag, key) == ("a", "href"):
                self.links.append(value or "")


def faults(site: Path) -> Iterator[str]:
    """The faults of all pages and style sheets."""
    files = sorted(site.rglob("*.html"))
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in files}
    for file, page in pages.items():
        where = file.relative_to(site)
        for address in page.loads:
            if urlsplit(address).netloc:
                yield f"{where}: loads {address}"
        for address in (*page.links, *page.loads):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            # The page of an unknown address can be shown at any address, so its links are absolute.
            start = site if parts.path.startswith("/") else file.parent
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{where}: no {address}"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where}: no anchor {address}"
    for sheet in sorted(site.rglob("*.css")):
        for address in IN_STYLES.findall(sheet.read_text(encoding="utf-8")):
            if urlsplit(address).netloc:
                yield f"{sheet.relative_to(site)}: loads {address}"


def main() -> int:
    """Checks one site."""
    found = list(faults(Path(sys.argv[1]).resolve()))
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
