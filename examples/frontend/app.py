"""A front end of a Croupier server, with accounts of its own: what browsers may ask for."""

import asyncio
import os
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import Row
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

import accounts
import matches
import pages
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from follower import follow
from store import prepare

from croupier.client import CroupierError

LONGEST_FORM = 4096  # Bytes.
HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
open_pages: defaultdict[int, set[asyncio.Event]] = defaultdict(set)  # Of each account.


def wake(found: set[int]) -> None:
    """Tells the open pages of some accounts that their lists have changed."""
    for event in (event for account in found for event in open_pages.get(account, ())):
        event.set()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Starts the follower in a thread of its own, which may be killed at any moment."""
    prepare()
    loop = asyncio.get_running_loop()
    app.state.tell = lambda found: loop.call_soon_threadsafe(wake, found)
    threading.Thread(target=follow, args=(app.state.tell,), daemon=True).start()
    yield


app = FastAPI(lifespan=lifespan, openapi_url=None)
app.mount("/static", StaticFiles(directory=Path(__file__).with_name("static")))


async def form_of(request: Request) -> dict[str, str]:
    """Returns the fields of a form, which must be on a page of this front end."""
    # Browsers say where a form comes from, so no other site acts for whoever is signed in here.
    if urlsplit(request.headers.get("origin", "")).netloc != request.headers.get("host"):
        raise HTTPException(403, "This form is of another site.")
    if not 0 <= int(request.headers.get("content-length", -1)) <= LONGEST_FORM:
        raise HTTPException(413)
    return dict(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))


def visitor(request: Request) -> Row | None:
    """Returns the account of the session, if there is one."""
    return accounts.of_session(request.cookies.get("session", ""))


def signed_in(request: Request) -> Row:
    """Returns the account of the session; without one there is no answer."""
    if account := visitor(request):
        return account
    raise HTTPException(401, "Sign in first.")


Form = Annotated[dict[str, str], Depends(form_of)]
SignedIn = Annotated[Row, Depends(signed_in)]


def answer(text: str, status: int = 200) -> Response:
    """Returns a page, or a part of one."""
    return HTMLResponse(text, status, HEADERS)


def home_of(account: Row, error: str = "") -> Response:
    """Returns the page of an account."""
    found = pages.matches(matches.listed(account["id"]))
    text = pages.home(account["name"], found, *matches.choices(account["id"]), error)
    return answer(text, 400 if error else 200)


@app.get("/")
def home(request: Request) -> Response:
    """The page of an account, or the way to get one."""
    account = visitor(request)
    return home_of(account) if account else answer(pages.welcome())


@app.post("/enter")
def enter(request: Request, form: Form) -> Response:
    """Opens a session, of a new account or of one that is there."""
    name, password = form.get("name", "").strip(), form.get("password", "")
    try:
        secret = accounts.enter(name, password, "new" in form)
    except ValueError as error:
        return answer(pages.welcome(str(error), name), 400)
    response, https = RedirectResponse("/", 303), request.url.scheme == "https"
    age = accounts.SESSION_SECONDS
    response.set_cookie("session", secret, age, httponly=True, samesite="lax", secure=https)
    return response


@app.post("/leave")
def leave(request: Request, _: Form) -> Response:
    """Ends the session."""
    accounts.leave(request.cookies.get("session", ""))
    return RedirectResponse("/", 303)


@app.post("/challenge")
def challenge(request: Request, account: SignedIn, form: Form) -> Response:
    """Creates a match."""
    wanted = (form.get(field, "") for field in ("game", "opponent", "seconds"))
    try:
        request.app.state.tell(matches.challenge(account["id"], *wanted))
    except ValueError as error:
        return home_of(account, str(error))
    return RedirectResponse("/", 303)


@app.get("/matches")
def listed(account: SignedIn) -> Response:
    """The list alone, for a page that shows an older one."""
    return answer(pages.matches(matches.listed(account["id"])))


@app.get("/matches/{match}/play")
def play(account: SignedIn, match: str) -> Response:
    """The way to the table. No other answer has the token of a seat."""
    if link := matches.link(account["id"], match):
        return RedirectResponse(link, 303, HEADERS)
    raise HTTPException(404)


@app.get("/events")
async def events(account: SignedIn) -> Response:
    """Server-sent events: the list has changed. The first comes at once, for what was missed."""

    async def changes() -> AsyncIterator[str]:
        event = asyncio.Event()
        event.set()
        open_pages[account["id"]].add(event)
        try:
            while await event.wait():
                event.clear()
                yield "data: changed\n\n"
        finally:
            open_pages[account["id"]].discard(event)

    return StreamingResponse(changes(), headers=HEADERS, media_type="text/event-stream")


@app.exception_handler(CroupierError)
def unreachable(_: Request, error: CroupierError) -> Response:
    """Says that the game server does not answer."""
    return answer(pages.page(f"<h1>The game server does not answer</h1><p>{error.code.name}"), 503)


if __name__ == "__main__":
    # Streams of events never end by themselves, so a stop does not wait for them.
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")), timeout_graceful_shutdown=1)
