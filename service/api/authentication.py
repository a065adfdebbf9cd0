"""Authentication: finds the caller of each method from the token that comes with the call."""

import hmac

from croupier.v1.error_pb2 import ErrorReason
from service.api.tokens import Tokens, read_bearer
from service.call import Call
from service.errors import Refusal
from service.hosting.caller import Caller
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches


class Authenticator:
    """Identifies callers, and finds the match that they call about."""

    def __init__(self, tokens: Tokens, matches: Matches, operator_token: str | None = None) -> None:
        self._tokens = tokens
        self._matches = matches
        self._operator_token = operator_token

    def is_operator(self, call: Call) -> bool:
        """Whether the operator calls; raises Refusal if the call comes without a token."""
        token = read_bearer(call.metadata.get("authorization", ""))
        operator = self._operator_token
        return operator is not None and hmac.compare_digest(token.encode(), operator.encode())

    def admit_operator(self, call: Call) -> None:
        """Raises Refusal unless the operator calls."""
        if not self.is_operator(call):
            why = "this server has none: it was not started with --operator-token-file"
            raise Refusal(
                ErrorReason.ERROR_REASON_NOT_OPERATOR,
                "this call needs the operator's token"
                + (f", and {why}" if self._operator_token is None else ""),
            )

    async def admit(self, call: Call, match: str) -> Caller:
        """The caller of a method about a match, whose name is "matches/{id}"; raises Refusal.

        Whether the token of the seat was replaced is for those to check who read the match
        (`Seats.check_token`).
        """
        match_id = match.removeprefix("matches/")
        call.match = match_id
        caller = self._tokens.read(call.metadata.get("authorization", ""))
        if caller.match_id != match_id:
            await self._matches.load(match_id)
            raise Refusal(
                ErrorReason.ERROR_REASON_TOKEN_OF_OTHER_MATCH, "the token is of another match"
            )
        return caller

    async def enter(self, call: Call, match: str) -> tuple[Caller, MatchState]:
        """As `admit`, and the match as the log has it now; the token is the newest of its seat."""
        caller = await self.admit(call, match)
        state = await self._matches.load(caller.match_id)
        state.seats.check_token(caller)
        return caller, state
