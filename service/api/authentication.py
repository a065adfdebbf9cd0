"""Authentication: the caller of each method, by the token that comes with the call."""

import hmac

from croupier.v1.error_pb2 import ErrorReason
from service.api.interceptor import Context
from service.api.tokens import Tokens, read_bearer
from service.errors import Refusal
from service.hosting.caller import Caller
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches


class Authenticator:
    """Finds out who calls about a match, and what the match is."""

    def __init__(self, tokens: Tokens, matches: Matches, operator_token: str | None = None) -> None:
        self._tokens = tokens
        self._matches = matches
        self._operator_token = operator_token

    def is_operator(self, context: Context) -> bool:
        """Whether the operator calls; raises Refusal if nobody says who he is."""
        token = read_bearer(_authorization(context))
        operator = self._operator_token
        return operator is not None and hmac.compare_digest(token.encode(), operator.encode())

    def admit_operator(self, context: Context) -> None:
        """Raises Refusal unless the operator calls."""
        if not self.is_operator(context):
            why = "this server has none: it was not started with --operator-token-file"
            raise Refusal(
                ErrorReason.ERROR_REASON_NOT_OPERATOR,
                "this call needs the operator's token"
                + (f", and {why}" if self._operator_token is None else ""),
            )

    async def admit(self, context: Context, match: str) -> Caller:
        """Who calls about the match named "matches/{match}"; raises Refusal."""
        caller = self._tokens.read(_authorization(context))
        match_id = match.removeprefix("matches/")
        if caller.match_id != match_id:
            await self._matches.load(match_id)
            raise Refusal(
                ErrorReason.ERROR_REASON_TOKEN_OF_OTHER_MATCH, "the token is of another match"
            )
        return caller

    async def enter(self, context: Context, match: str) -> tuple[Caller, MatchState]:
        """Who calls, and the match named "matches/{match}"; raises Refusal."""
        caller = await self.admit(context, match)
        return caller, await self._matches.load(caller.match_id)


def _authorization(context: Context) -> str:
    # The last one, if there are several.
    sent = ""
    for key, value in context.invocation_metadata() or ():
        if key == "authorization":
            sent = str(value)
    return sent
