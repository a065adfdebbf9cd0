"""The pages, as text. Whatever comes from somewhere else goes through `escape`."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from accounts import LENGTHS
from matches import CLOCKS, STRENGTHS

WHY = {"time": "on time", "resignation": "by resignation", "abandoned": "as a player has left"}


def page(main: str, name: str = "") -> str:
    """Returns a whole page, with the name of the account."""
    leave = f"<span>{escape(name)}</span><button class=quiet>Sign out</button>" if name else ""
    return f"""<!doctype html>
<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">
<title>The Card Room</title><link rel=stylesheet href=/static/style.css>
<link rel=icon href=/static/icon.svg><script src=/static/live.js defer></script>
<header><a class=brand href=/>The Card Room</a><form method=post action=/leave>{leave}</form>
</header><main>{main}</main></html>"""


def welcome(error: str = "", name: str = "") -> str:
    """Returns the page of whoever has not signed in."""
    return page(f"""<div class=panel><h1>Card games for two</h1>
<p>Sign in, challenge somebody, and play at the table when it is your turn.</p>
<p class=error role=alert>{escape(error)}</p><form method=post action=/enter>
<label>Name <input name=name required value="{escape(name)}" autocomplete=username></label>
<label>Password <input name=password type=password required minlength={LENGTHS[0]}
 maxlength={LENGTHS[1]} autocomplete=current-password></label>
<p class=buttons><button class=primary>Sign in</button>
<button name=new value=1>Create an account</button></p></form></div>""")


def home(
    name: str, found: str, games: Mapping[str, str], people: Mapping[str, str], error: str
) -> str:
    """Returns the page of an account, with the list that `matches` has made."""
    players = f"<optgroup label=Players>{_options(people)}</optgroup>" if people else ""
    bots = _options({strength: f"{strength.capitalize()} bot" for strength in STRENGTHS})
    main = f"""<section><h1>Your matches</h1><div id=matches>{found}</div></section>
<section class=panel><h2>New match</h2><form method=post action=/challenge>
<label>Against
<select name=opponent>{players}<optgroup label=Bots>{bots}</optgroup></select></label>
<label>Game <select name=game>{_options(games)}</select></label>
<label>Time <select name=seconds>{_options(CLOCKS)}</select></label>
<p class=error role=alert>{escape(error)}</p>
<p class=buttons><button class=primary>Challenge</button></p></form></section>"""
    return page(main, name)


def matches(found: Iterable[Mapping[str, Any]]) -> str:
    """Returns the list of an account: first the matches in which it is to move, last those over."""
    rows = sorted(found, key=lambda it: (bool(it["result"]), str(it["seat"]) not in it["due"]))
    none = "<p class=none>None yet. Challenge another player, or a bot.</p>"
    return f"<ul>{''.join(map(_match, rows))}</ul>" if rows else none


def _match(match: Mapping[str, Any]) -> str:
    seat, due, result, scores = (match[key] for key in ("seat", "due", "result", "scores"))
    kind, button, says = "waits", "Open", f"{match['opponent']} is to move"
    if result:
        own, others = (result["scores"] or [0, 0])[:: 1 - 2 * seat]
        says = "You won" if own > others else "You lost" if own < others else "A draw"
        says = says if result["scores"] else "No result"
        kind, button, says = "over", "Look back", f"{says} {WHY.get(result['reason'], '')}"
    elif str(seat) in due:
        kind, button, says = "yours", "Play", "Your turn"
    until = due.get(str(seat if kind == "yours" else 1 - seat))
    time = f"<time datetime={escape(until)}>until {escape(until)}</time>" if until else ""
    score = f"{scores[seat]} – {scores[1 - seat]}" if scores else ""
    return f"""<li class={kind}><div><h2>{escape(match["title"])}</h2>
<p>against <bdi>{escape(match["opponent"])}</bdi></p></div><p class=score>{score}</p>
<p class=status>{escape(says)} {time}</p>
<a class=button href="/{escape(match["name"])}/play" target=_blank>{button}</a></li>"""


def _options(texts: Mapping[str, str]) -> str:
    pairs = ((escape(value), escape(text)) for value, text in texts.items())
    return "".join(f'<option value="{value}">{text}</option>' for value, text in pairs)
