"""What the tools of the MCP server answer, also to programs and in brief, and what they refuse."""

import difflib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel
from rich.console import RenderableType

from croupier.client import Client
from croupier.terminal import hints, texts
from croupier.terminal.plain import plain
from croupier.v1 import catalog_pb2

WIDTH = 100  # Columns of what is drawn.
BRIEF_TOKENS = 300  # Of an answer in the brief form, at most, counted as bytes of UTF-8 / 4.
TOKEN_BYTES = 4
# Of these, what each part may have: what happened, the view, why something was refused.
HAPPENED_BYTES, VIEW_BYTES, WHY_BYTES = 200, 460, 200
SPARE_BYTES = 80  # For the lines that say what was left out.


class StrictServer(MCPServer):
    """Refuses an argument that a tool does not have: a misspelt one would be left out."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Calls a tool; raises ToolError."""
        tools = {
            tool.name: tool.input_schema.get("properties", {}) for tool in await self.list_tools()
        }
        if name not in tools:
            raise ToolError(f"there is no tool {name[:100]!r}, only {', '.join(tools)}")
        for given in arguments.keys() - tools[name].keys():
            near = difflib.get_close_matches(given[:100], tools[name], 1)
            instead = f"did you mean {near[0]}?" if near else f"only {', '.join(tools[name])}"
            raise ToolError(f"{name} has no argument {given[:100]!r}: {instead}")
        return await super().call_tool(name, arguments, context)


class GameTitle(BaseModel):
    """A game in a list."""

    id: str
    title: str
    rules_version: int


class Games(BaseModel):
    """The games of the server."""

    games: list[GameTitle]


class Position(BaseModel):
    """A match as a seat sees it."""

    match: str
    version: int
    seat: int
    over: bool = False
    scores: list[float] = []  # Of both seats, when the match is over.
    action_count: int = 0
    actions: list[str] = []  # The legal actions; the first has the number 1. Not in the brief form.
    happened: list[str] = []  # Before this view. Not in the brief form.
    token: str = ""  # Of a seat that was taken just now.
    invitation: str = ""  # For the other player, if one was invited just now.


class Answer(NamedTuple):
    """What a tool answers."""

    text: str
    content: BaseModel | None = None


def drawn(*shown: RenderableType, width: int = WIDTH) -> str:
    """Returns what the terminal shows, as text."""
    return plain(*shown, width=width).rstrip("\n")


def dumped(content: BaseModel) -> dict[str, Any]:
    """Returns structured content as it is sent, without what says nothing."""
    return content.model_dump(mode="json", exclude_defaults=True)


def size(line: str) -> int:
    """Returns how many bytes a line has."""
    return len(line.encode()) + 1


def last_lines(lines: Sequence[str], most: int) -> list[str]:
    """Returns the last of some lines, which have no more than so many bytes."""
    kept: list[str] = []
    for line in reversed(lines):
        most -= size(line)
        if most < 0:
            return ["...", *kept]
        kept.insert(0, line)
    return kept


def shortest(shown: str, most: int) -> list[str]:
    """Returns the lines of a drawing without its frames and gaps, in no more than so many bytes.

    The longest are left out first, but for the title: they list what is hidden or gone.
    """
    bare = re.sub("[─┌┬┐├┼┤└┴┘]", "", shown).replace("│", "|")
    lines = [re.sub(" {2,}", "  ", line).strip() for line in bare.split("\n")]
    lines = [line for line in lines if line.strip("| ")]
    whole = len(lines)
    while len(lines) > 1 and sum(map(size, lines)) > most:
        lines.remove(max(lines[1:], key=size))
    return lines if len(lines) == whole else [*lines, "..."]


def beginning(text: str, most: int) -> str:
    """Returns a text, or its beginning if it has more bytes, in whole lines if it can be."""
    data = text.encode()
    if len(data) <= most:
        return text
    cut = data[: most - 4].decode(errors="ignore")
    return (cut.rpartition("\n")[0] or cut) + "\n..."


def game_id(game: catalog_pb2.Game) -> str:
    """The id of a game."""
    return game.name.removeprefix("games/")


def find_game(client: Client, named: str, language: str) -> str:
    """The id of the game with an id or a title; raises ToolError if there is none."""
    games = client.games(language=language)
    ids = {_bare(name): game_id(each) for each in games for name in (each.title, game_id(each))}
    if language:
        ids |= {_bare(each.title): game_id(each) for each in client.games()}
    try:
        return ids[_bare(named)]
    except KeyError:
        known = ", ".join(f"{game_id(each)} ({each.title})" for each in games)
        raise ToolError(f"there is no game {named[:100]!r}, only {known}") from None


def _bare(name: str) -> str:
    return re.sub(r"\W|_", "", name).casefold()


def rules_of(game: catalog_pb2.Game) -> str:
    """The rules of a game in short, and its cards."""
    cards = hints.cards(game, texts.in_language(game.language_code))
    return f"{game.title}\n{game.rules}\n\nCards:\n{drawn(cards)}"
