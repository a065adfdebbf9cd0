"""Build the site of the documentation with Zensical: the pages of docs/, and what is generated.

    .venv/bin/python scripts/build_docs.py

Generated are the reference of the API, a page for each game from the catalog, and the pictures, if
`scripts/web.sh pictures` has taken them. The pages go through build/docs/pages/ into build/site/.
There, links that leave docs/ lead to copies, so that the site stands alone.

In a page, `<!-- picture: NAME: TEXT -->` stands for the pictures that are called NAME. Blocks of
code that each follow a line such as `**Go**` or `**Go**: TEXT` become tabs, which plain Markdown
lacks.
"""

import asyncio
import html
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import indent

from croupier.v1 import catalog_pb2
from service.api.catalog_service import CatalogService

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build/docs"
PAGES = STAGE / "pages"
SITE = ROOT / "build/site"
PICTURES = ROOT / "build/pictures"
# Pages of the site that are not in docs/, by their path in the checkout.
ELSEWHERE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "clients/csharp/README.md",
    "clients/python/README.md",
    "clients/typescript/README.md",
    "examples/README.md",
    "web/README.md",
)
SCHEMAS = Path("proto/croupier/v1")
# The schemas in the order in which a client programmer reads them; further ones come after them.
ORDER = ("match", "game", "hint", "review", "puzzle", "catalog", "clock", "error")
# A service, message or enum at the top of a schema, with its comment.
DEFINITION = re.compile(
    r"^(?://[^\n]*\n)*(?:service|message|enum) (\w+) \{(?:\}|.*?^\})", re.MULTILINE | re.DOTALL
)
# What the site shows in another form.
SHOWN = {SCHEMAS: Path("reference/index.md")}
# Scripts that the theme would load from elsewhere: the package, and the file in it. One draws the
# diagrams; with the other one, search works from a file system.
SCRIPTS = {
    "mermaid.min.js": ("mermaid@12.3.0", "package/dist/mermaid.min.js"),
    "iframe-worker.js": ("iframe-worker@1.0.4", "package/shim/index.js"),
}
ELSEWHERE_LOADED = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"^<!-- picture: ([\w-]+): (.+) -->$", re.MULTILINE)
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
# A label, a text if there is one, and the blocks of code after it.
TAB = re.compile(
    r"^\*\*(\w+)\*\*(?:: ((?:.+\n)+)|\n)"
    r"((?:\n(?:<!-- not run: .+ -->\n)?```\w+\n(?:.*\n)*?```\n)+)",
    re.MULTILINE,
)


def stage() -> None:
    """Writes all pages of the site, as Markdown, to build/docs/."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("zensical.toml"))
    shutil.copy(ROOT / "web/public/icon.svg", PAGES)
    if PICTURES.is_dir():
        shutil.copytree(PICTURES, PAGES / "pictures")
    sources = [page.relative_to(ROOT) for page in sorted((ROOT / "docs").rglob("*.md"))]
    for source in (*sources, *map(Path, ELSEWHERE)):
        target = PAGES / staged(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = with_pictures((ROOT / source).read_text(encoding="utf-8"))
        text = with_tabs(outside_fences(text, partial(relink, source)))
        target.write_text(text, encoding="utf-8")
    write_reference(PAGES / "reference")
    asyncio.run(write_games(PAGES / "games"))
    config = (ROOT / "docs/zensical.toml").read_text(encoding="utf-8")
    fetch_script("iframe-worker.js")
    if fetch_script("mermaid.min.js"):
        config = config.replace("extra_css", 'extra_javascript = ["mermaid.min.js"]\nextra_css', 1)
    (STAGE / "zensical.toml").write_text(expand(config), encoding="utf-8")


def staged(source: Path) -> Path:
    """Where a page of the checkout is among the pages of the site."""
    if source == Path("README.md"):
        return Path("index.md")
    return source.relative_to("docs") if source.is_relative_to("docs") else source


def outside_fences(text: str, change: "partial[str]") -> str:
    """Text with a change of all that is not in a fenced block of code."""
    parts, end = [], 0
    for fence in FENCED.finditer(text):
        parts += [change(text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def relink(source: Path, text: str) -> str:
    """A part of a page with links as the site has them."""

    def link(found: re.Match[str]) -> str:
        sign, words, address = found.groups()
        path, anchor, fragment = address.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found.group()
        target = Path(os.path.normpath(source.parent / path))
        folder = (ROOT / target).is_dir() and not (ROOT / target / "README.md").is_file()
        if folder and target not in SHOWN:
            return words  # It has no page.
        if re.fullmatch(r"[\w/.-]+\.md", words) and target.suffix == ".md":
            words = title(target)  # On the site, nobody knows a page by its file.
        page = os.path.relpath(PAGES / place(target), (PAGES / staged(source)).parent)
        return f"{sign}[{words}]({page}{anchor}{fragment})"

    return LINK.sub(link, text)


def title(page: Path) -> str:
    """The title of a page of the checkout."""
    heading = re.search(r"^# (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return heading.group(1) if heading else page.stem


def place(target: Path) -> Path:
    """Where a file of the checkout is among the pages; a file of another kind is copied there."""
    if target in SHOWN:
        return SHOWN[target]
    if (ROOT / target).is_dir():
        target /= "README.md"
    if target.is_relative_to("docs") or str(target) in ELSEWHERE:
        return staged(target)
    if target.is_relative_to(SCHEMAS):
        return Path("reference", target.stem + ".md")
    if target.match("games/*/rules/rules.pyx"):
        return Path("games", target.parts[1] + ".md")
    copy = Path("source", f"{target}.txt")  # As text, a browser shows it.
    (PAGES / copy).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / target, PAGES / copy)
    return copy


def with_pictures(text: str) -> str:
    """A page with its pictures, as far as they were taken: one for each theme, or one for both."""

    def pictures(found: re.Match[str]) -> str:
        name, words = found.groups()
        kinds = [("-light", "#only-light"), ("-dark", "#only-dark"), ("", "")]
        return "\n".join(
            f"![{words}](pictures/{name}{kind}.png{theme})"
            for kind, theme in kinds
            if (PICTURES / f"{name}{kind}.png").is_file()
        )

    return PICTURE.sub(pictures, text)


def with_tabs(text: str) -> str:
    """A page with its labelled blocks of code as tabs; those without a text between share a row."""

    def tab(found: re.Match[str]) -> str:
        label, words, code = found.groups()
        body = indent(f"\n{words or ''}{code}", "    ")
        return f'=== "{label}"\n{body}'

    return TAB.sub(tab, text)


def write_reference(directory: Path) -> None:
    """Writes a page for each schema, with its definitions as they are in it, and a list of all."""
    directory.mkdir(parents=True)
    index = ["# Reference of the API", "", "All services, messages and enums of `croupier.v1`."]
    for schema in in_order((ROOT / SCHEMAS).glob("*.proto"), ORDER):
        page = [f"# {schema.relative_to(ROOT / 'proto')}", "", "[All of the reference](index.md)"]
        index += ["", f"## [{page[0][2:]}]({schema.stem}.md)", ""]
        for found in DEFINITION.finditer(schema.read_text(encoding="utf-8")):
            name = found.group(1)
            page += ["", f"## {name}", "", "```proto", found.group(), "```"]
            index.append(f"- [{name}]({schema.stem}.md#{name.lower()})")
        (directory / f"{schema.stem}.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    (directory / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def in_order(paths: Iterable[Path], first: Sequence[str]) -> list[Path]:
    """Paths sorted by their stem, after those with a stem that is to be first."""
    listed = {stem: number for number, stem in enumerate(first)}
    return sorted(paths, key=lambda path: (listed.get(path.stem, len(first)), path.stem))


async def write_games(directory: Path) -> None:
    """Writes a page for each game that a server hosts, from the catalog."""
    directory.mkdir()
    catalog = CatalogService()
    listed = await catalog.ListGames(catalog_pb2.ListGamesRequest(), None)  # type: ignore[arg-type]
    index = ["# The games", "", *GAMES_INTRODUCTION]
    for entry in listed.games:
        request = catalog_pb2.GetGameRequest(name=entry.name)
        game = (await catalog.GetGame(request, None)).game  # type: ignore[arg-type]
        id = game.name.removeprefix("games/")
        index += ["", f"## [{game.title}]({id}.md)", "", first_sentences(game.rules), ""]
        index += picture_lines(f"{id}-board", f"A match of {game.title}")
        page = "\n".join(game_page(id, game)) + "\n"
        (directory / f"{id}.md").write_text(page, encoding="utf-8")
    (directory / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")


GAMES_INTRODUCTION = (
    "These pages are generated from the catalog: they say what `ListGames` and `GetGame` answer.",
    "The web app draws the cards. The server has all texts in German too.",
)


def first_sentences(rules: str) -> str:
    """The first paragraph of the rules."""
    return " ".join(rules.strip().split("\n\n")[0].split())


def picture_lines(name: str, words: str) -> list[str]:
    """The pictures of a name, for a page one folder down."""
    return with_pictures(f"<!-- picture: {name}: {words} -->").replace("(", "(../", 2).splitlines()


def game_page(id: str, game: catalog_pb2.Game) -> Iterator[str]:
    """The lines of a game's page."""
    yield f"# {game.title}"
    yield ""
    yield from picture_lines(f"{id}-board", f"A match of {game.title} in the web app")
    for paragraph in game.rules.strip().split("\n\n"):
        yield ""
        yield " ".join(paragraph.split())
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| name in the API | `{game.name}` |"
    yield f"| version of the rules | {game.rules_version} |"
    yield f"| seats | 0: {game.seat_titles[0]}; 1: {game.seat_titles[1]} |"
    camel = "".join(word.capitalize() for word in id.split("_"))
    reference = f"../reference/{id}.md#{camel.lower()}ruleset"
    yield f"| options | the fields of [`{camel}Ruleset`]({reference}) |"
    yield f"| in the terminal | `croupier play {id}` |"
    yield ""
    yield "## Cards"
    yield ""
    count = sum(card.copies for card in game.cards)
    yield f"The default list has {len(game.cards)} different cards, {count} in all."
    yield "A match may use another list: cards are data."
    yield ""
    yield f'<ul class="cards {id}">'
    for card in game.cards:
        picture = f"pictures/cards/{id}/{card.id}.svg"
        numbers = ", ".join(f"{number.title} {number.value:g}" for number in card.numbers)
        yield "<li>"
        if (PAGES / picture).is_file():
            yield f'<img src="../{picture}" alt="" width="100" height="140">'
        yield f"<b>{html.escape(card.title)}</b>"
        numbers = html.escape(" · ".join([f"{card.copies}×", *([numbers] if numbers else [])]))
        yield f'<span class="numbers">{numbers}</span>'
        if card.text:
            yield f"<span>{html.escape(card.text)}</span>"
        yield "</li>"
    yield "</ul>"


def fetch_script(name: str) -> bool:
    """Puts a script beside the pages, if there is npm with a network."""
    package, path = SCRIPTS[name]
    archive = ROOT / "build" / (package.replace("@", "-") + ".tgz")
    if not archive.is_file():
        npm = shutil.which("npm", path=f"{os.environ['PATH']}:{Path(sys.executable).parent}")
        command = ["pack", "--silent", package, "--pack-destination", str(archive.parent)]
        if npm is None or subprocess.run([npm, *command], stdout=subprocess.DEVNULL).returncode:
            print(f"The site goes without {name}: npm could not get {package}.")
            return False
    with tarfile.open(archive) as files:
        script = files.extractfile(path)
        assert script is not None
        (PAGES / name).write_bytes(script.read())
    return True


def localize(site: Path) -> None:
    """Lets the pages load a script of the theme from the site, or not at all."""
    for page in site.rglob("*.html"):
        name = "iframe-worker.js"
        address = os.path.relpath(site / name, page.parent)
        tag = f'<script src="{address}"></script>' if (site / name).is_file() else ""
        page.write_text(ELSEWHERE_LOADED.sub(tag, page.read_text("utf-8")), "utf-8")


def expand(config: str) -> str:
    """The configuration with all pages that a * in its navigation stands for."""

    def names(found: re.Match[str]) -> str:
        folder = found.group(1)
        pages = in_order((PAGES / folder).glob("*.md"), ("index", "README", *ORDER))
        listed = [f"{folder}/{page.name}" for page in pages]
        # The title of a page of the reference is the path of its schema, which is long.
        titled = '{{ "{1}" = "{0}" }}' if folder == "reference" else '"{0}"'
        return ", ".join(titled.format(name, Path(name).name[:-3]) for name in listed)

    return re.sub(r'"([\w/]+)/\*\.md"', names, config)


def unlisted() -> list[str]:
    """Pages that the navigation lacks."""
    config = (STAGE / "zensical.toml").read_text(encoding="utf-8")
    pages = (str(page.relative_to(PAGES)) for page in sorted(PAGES.rglob("*.md")))
    return [f"{page} is not in the navigation" for page in pages if f'"{page}"' not in config]


def main() -> int:
    """Builds the site."""
    if not (PICTURES / "cards").is_dir():
        print("The site has no pictures: `scripts/web.sh pictures` takes them, with Chromium.")
    stage()
    shutil.rmtree(STAGE / "site", ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    command = [str(zensical), "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    if subprocess.run(command, cwd=STAGE, env={**os.environ, "NO_COLOR": "1"}).returncode:
        return 1
    localize(STAGE / "site")
    shutil.rmtree(SITE, ignore_errors=True)
    (STAGE / "site").rename(SITE)
    found = unlisted()
    print("\n".join(found) or f"the site is in {SITE.relative_to(ROOT)}/: open index.html")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
