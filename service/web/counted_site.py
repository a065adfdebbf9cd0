"""The files of the table, within the budget of whoever asks for them."""

from math import ceil

from service.admission.budgets import BudgetExhausted
from service.api.calls import Calls
from service.call import Call
from service.web.asgi import Receive, Scope, Send, respond_text
from service.web.rpc import peer_of
from service.web.site import Site


class CountedSite:
    """Counts each request for a file as a call of its address."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._site = Site()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        headers = [
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in scope["headers"]
        ]
        host, port = scope["client"]
        try:
            await self._calls.admit_file(Call("", "", headers, peer_of(host, str(port))))
        except BudgetExhausted as refusal:
            later = b"%d" % ceil(refusal.wait)
            await respond_text(send, 429, str(refusal), [(b"retry-after", later)])
        else:
            await self._site(scope, receive, send)
