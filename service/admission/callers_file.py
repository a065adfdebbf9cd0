"""The callers file, and the budgets of callers and addresses that it does not name (DEFAULT_*)."""

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from croupier.files import read_again
from service.admission.budgets import Budget, BudgetLimits

IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

# Calls that can be restricted to callers with a key or a signed token.
RESTRICTABLE = ("create_match", "hint_without_match")
ALGORITHMS = ("RS256", "ES256", "EdDSA")
FORWARDED_HEADER = "x-forwarded-for"

# Of somebody who plays: a seat, a player of a front end, or the subject of a signed token.
DEFAULT_PERSON: BudgetLimits = {
    Budget.CALLS: 50,
    Budget.MATCHES: 60,
    Budget.RULESET_BYTES: 500_000,
    Budget.SEARCH_SECONDS: 60,
    Budget.SEARCH_RATE: 5,
    Budget.PROCESSOR: 100,
    Budget.LIVE_MATCHES: 20,
    Budget.STREAMS: 16,
    Budget.SEARCHES: 4,
    Budget.REVIEWS: 4,
    Budget.BYTES: 8 << 20,
}
# Of an address, which a household, a school or a mobile network may share.
DEFAULT_ADDRESS: BudgetLimits = {
    Budget.CALLS: 500,
    Budget.MATCHES: 600,
    Budget.RULESET_BYTES: 2_000_000,
    Budget.SEARCH_SECONDS: 240,
    Budget.SEARCH_RATE: 20,
    Budget.PROCESSOR: 250,
    Budget.LIVE_MATCHES: 200,
    Budget.STREAMS: 512,
    Budget.SEARCHES: 32,
    Budget.REVIEWS: 8,
    Budget.WEB_CONNECTIONS: 600,
    Budget.BYTES: 24 << 20,
}
# Of a front end with a key, so that it leaves others some of the server.
DEFAULT_KEY: BudgetLimits = {
    Budget.CALLS: 5_000,
    Budget.PROCESSOR: 500,
    Budget.STREAMS: 10_000,
    Budget.REVIEWS: 16,
    Budget.BYTES: 320 << 20,
}

_HASH = re.compile("[0-9a-f]{64}")
_ENTRY = re.compile(r"\s*+(?:\[([^\]]+)\]|([^=#\[]+)=)")  # A line that begins a table or has a key.


class Key(NamedTuple):
    """A front end that has an API key."""

    name: str
    names_players: bool  # Whether its header "x-player-id" is believed.
    limits: BudgetLimits


class Jwt(NamedTuple):
    """How signed tokens are checked."""

    jwks: str  # The URL or the path of a JSON Web Key Set.
    issuer: str
    audience: str
    algorithms: tuple[str, ...]


class Callers(NamedTuple):
    """The contents of a callers file; the defaults are those of a server without one."""

    keys: Mapping[str, Key] = {}  # By the SHA-256 hash of the key, in hexadecimal digits.
    jwt: Jwt | None = None
    trusted_proxies: tuple[IpNetwork, ...] = ()
    forwarded_header: str = FORWARDED_HEADER
    require_key: frozenset[str] = frozenset()
    person: BudgetLimits = DEFAULT_PERSON
    address: BudgetLimits = DEFAULT_ADDRESS
    # Without a callers file, whoever calls from this machine is its operator.
    loopback_is_limited: bool = False


def read_callers_file(path: Path) -> Callers:
    """Reads a callers file; raises OSError, and ValueError with the line of a mistake."""
    data, text = read_again(path), ""
    try:
        text = data.decode()
        return _read(tomllib.loads(text))
    except RecursionError:
        raise ValueError(f"{path}: it is nested too deeply") from None
    except ValueError as error:
        line = _line_of(str(error).partition(":")[0], text)
        raise ValueError(f"{path}{f', line {line}' if line else ''}: {error}") from None


def _line_of(place: str, text: str) -> int:
    # The line that comes closest to a place such as keys.studio.sha256; 0 if none does.
    table, closest, found = "", "", 0
    for number, line in enumerate(text.splitlines(), 1):
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        name = re.sub("[\"' ]", "", entry[1] or table + entry[2])
        if entry[1]:
            table = f"{name}."
        if f"{place}.".startswith(f"{name}.") and len(name) > len(closest):
            closest, found = name, number
    return found


def _read(given: dict[str, Any]) -> Callers:
    known = {"keys", "jwt", "budgets", "trusted_proxies", "forwarded_header", "require_key"}
    _check_names(given, known, "")
    budgets = _table(given, "budgets", "")
    _check_names(budgets, {"person", "address"}, "budgets.")
    keys: dict[str, Key] = {}
    for name, entry in _table(given, "keys", "").items():
        # A view tells players who has issued their tokens, and NAME/PLAYER is the name of a player.
        if not name or "/" in name or not name.isprintable():
            raise ValueError(f"keys.{name!r}: a name can be printed, and has no /")
        digest, key = _read_key(name, entry)
        if digest in keys:
            raise ValueError(f"keys.{name}.sha256: the key is that of {keys[digest].name}")
        keys[digest] = key
    required = _strings(given, "require_key", "")
    for each in required:
        if each not in RESTRICTABLE:
            raise ValueError(f"require_key: {each!r} is not one of {', '.join(RESTRICTABLE)}")
    jwt = _read_jwt(_table(given, "jwt", "")) if "jwt" in given else None
    if required and not keys and jwt is None:
        raise ValueError("require_key: needs [keys.*] or [jwt], or nobody could call")
    return Callers(
        keys=keys,
        jwt=jwt,
        trusted_proxies=tuple(map(_network, _strings(given, "trusted_proxies", ""))),
        forwarded_header=_string(given, "forwarded_header", "", FORWARDED_HEADER).lower(),
        require_key=frozenset(required),
        person=_read_limits(budgets, "person", "budgets.", DEFAULT_PERSON),
        address=_read_limits(budgets, "address", "budgets.", DEFAULT_ADDRESS),
        loopback_is_limited=True,
    )


def _read_key(name: str, entry: Any) -> tuple[str, Key]:
    place = f"keys.{name}."
    if not isinstance(entry, dict):
        raise ValueError(f"keys.{name}: must be a table")
    _check_names(entry, {"sha256", "names_players", "budgets"}, place)
    digest = _string(entry, "sha256", place)
    if not _HASH.fullmatch(digest):
        raise ValueError(f"{place}sha256: must be 64 hexadecimal digits; `croupier key` makes one")
    names_players = entry.get("names_players", False)
    if not isinstance(names_players, bool):
        raise ValueError(f"{place}names_players: must be true or false")
    return digest, Key(name, names_players, _read_limits(entry, "budgets", place, DEFAULT_KEY))


def _read_jwt(entry: dict[str, Any]) -> Jwt:
    _check_names(entry, {"jwks", "issuer", "audience", "algorithms"}, "jwt.")
    algorithms = _strings(entry, "algorithms", "jwt.") or list(ALGORITHMS)
    for each in algorithms:
        if each not in ALGORITHMS:
            raise ValueError(f"jwt.algorithms: {each!r} is not one of {', '.join(ALGORITHMS)}")
    jwks = _string(entry, "jwks", "jwt.")
    if "://" in jwks and "@" in urlsplit(jwks).netloc:
        raise ValueError("jwt.jwks: keys that are public need no user and no password")
    return Jwt(
        jwks,
        _string(entry, "issuer", "jwt."),
        _string(entry, "audience", "jwt."),
        tuple(algorithms),
    )


def _read_limits(
    given: dict[str, Any], name: str, place: str, default: BudgetLimits
) -> BudgetLimits:
    # "unlimited" takes a default away.
    limits = dict(default)
    for budget, limit in _table(given, name, place).items():
        at = f"{place}{name}.{budget}"
        if budget not in [each.value for each in Budget]:
            raise ValueError(f"{at}: there is no such budget; there are {', '.join(Budget)}")
        if limit == "unlimited":
            limits.pop(Budget(budget), None)
        elif isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < 1e15:
            raise ValueError(f'{at}: must be a number from 0 on, or "unlimited"')
        else:
            limits[Budget(budget)] = limit
    return limits


def _network(text: str) -> IpNetwork:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(
            f"trusted_proxies: {text!r} is not an address or a network such as 10.0.0.0/8"
        ) from None


def _check_names(given: Mapping[str, Any], known: set[str], place: str) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"{place}{name}: is not one of {', '.join(sorted(known))}")


def _table(given: Mapping[str, Any], name: str, place: str) -> dict[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{place}{name}: must be a table")
    return found


def _string(given: Mapping[str, Any], name: str, place: str, default: str = "") -> str:
    found = given.get(name, default)
    if not isinstance(found, str) or not found:
        raise ValueError(f"{place}{name}: must be a text that is not empty")
    return found


def _strings(given: Mapping[str, Any], name: str, place: str) -> list[str]:
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{place}{name}: must be a list of texts")
    return found
