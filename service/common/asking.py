"""A request over HTTP to a server that may answer anything: one deadline, and one kind of error."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

MAX_REASON = 300  # Characters: what is no HTTP can be long.


@asynccontextmanager
async def answered(
    method: str,
    url: httpx2.URL | str,
    seconds: float,
    trust: ssl.SSLContext,
    *,
    by_environment: bool = False,
    redirected: bool = False,
    **sent: Any,
) -> AsyncIterator[httpx2.Response]:
    """The head of the answer to a request, on a connection of its own, up to 100 KiB of it.

    Its body is for the block to read, or not. All of this has so many seconds, from the look-up of
    the name on. `by_environment` says whether proxies of the environment are used, and
    `redirected` whether redirects are followed. Raises OSError, which does not name the URL.
    """
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                verify=trust,
                trust_env=by_environment,
                timeout=None,
                follow_redirects=redirected,
            ) as client,
            client.stream(method, url, **sent) as response,
        ):
            yield response
    except TimeoutError:
        raise OSError(f"no answer within {seconds:g} seconds") from None
    # A connection that is lost, or an answer that is no HTTP.
    except Exception as error:
        raise OSError(_reason(error)[:MAX_REASON]) from None


def _reason(error: BaseException) -> str:
    # Where a library has an error of the system, that one says more.
    text, link = str(error), error.__cause__ or error.__context__
    while link is not None:
        if isinstance(link, BaseExceptionGroup):
            link = link.exceptions[0]
        text = str(link) if isinstance(link, OSError) else text
        link = link.__cause__ or link.__context__
    return text or type(error).__name__
