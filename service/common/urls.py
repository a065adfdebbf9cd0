"""URLs, which may hold a password that nobody is to be shown."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

# The parameters that hold no secret; any other one may, such as `options`.
_SHOWN = re.compile(
    "user|host|hostaddr|port|dbname|database|application_name|search_path|passfile|service"
    "|servicefile|target_session_attrs|connect_timeout|sslmode|ssl(root)?cert|sslkey|sslcrl(dir)?"
    "|sslnegotiation|ssl_(min|max)_protocol_version|gsslib|krbsrvname"
)
_HOST = r"(?:\[[^]]*\]|[^][:/?#@,\s]*)(?::\d+)?"
_URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://(?:(?P<user>[^][:/?#@\s]*)(?P<password>:[^][:/?#@\s]*)?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[^?#@\s]*)?)(?:\?(?P<query>[^#\s]*))?"
)


def check_url(url: str) -> str:
    """The URL of a PostgreSQL database; raises ValueError, without showing it, if it is none."""
    if not _URL.fullmatch(url):
        # What is wrong with it would be said by the part that was taken for the host or the port.
        raise ValueError(
            "'postgresql://...' is no URL of a database: it is postgresql://USER:PASSWORD@HOST:PORT"
            "/DATABASE, with signs of the user and the password other than letters and digits "
            "written as %XX"
        )
    return url


def without_password(text: str) -> str:
    """A text for people: of a URL of a database, all but its passwords."""
    if not re.match("postgres(ql)?:/", text, re.IGNORECASE):
        return text
    found = _URL.fullmatch(text)
    if found is None:
        return "postgresql://..."
    query = parse_qsl(found["query"] or "", keep_blank_values=True)
    kept = [(name, value) for name, value in query if _SHOWN.fullmatch(name)]
    user = "" if found["user"] is None else f"{found['user']}@"
    shown = found["query"] if kept == query else urlencode(kept)
    return f"{found['scheme']}://{user}{found['place']}" + (f"?{shown}" if shown else "")


def bare(url: str) -> str:
    """A URL, or a path, for people: without what may be secret, its user and its query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
