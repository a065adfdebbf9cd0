"""The metrics of several processes as those of one server.

Each process tells its metrics in Prometheus's text format, in which a series is the same text in
all of them. So series are added up as texts: parsing three thousand of them for each process would
hold up what else this process does for a hundred milliseconds.

Counts go on when a process ends: what it told last stays in the sums. The multi-process mode of
prometheus_client keeps it in files, which each observation of each metric would write to, and knows
no metrics of processes or functions.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from service.web.asgi import Receive, Scope, Send, respond

# The metrics of which the largest is that of the server; all others are added up.
LARGEST = (
    "croupier_build_info",
    "croupier_rules_version",
    "croupier_overdue_seconds",
    "croupier_store_failing",
    "croupier_tls_certificate_expiry_timestamp_seconds",
    "process_start_time_seconds",
    "python_info",
)
_COUNTED = ("counter", "histogram")


class _Family:
    """The series of one metric."""

    def __init__(self, head: list[str], kind: str) -> None:
        self.head = head  # The lines HELP and TYPE.
        self.kind = kind
        self.series: dict[str, float] = {}

    def add(self, series: Mapping[str, float], largest: bool = False) -> None:
        """Adds what another process has told, or keeps the larger values."""
        for name, value in series.items():
            known = self.series.get(name)
            if known is None:
                self.series[name] = value
            else:
                self.series[name] = max(known, value) if largest else known + value


_Families = dict[str, _Family]


class SummedMetrics:
    """Tells the metrics of this process and others, added up."""

    def __init__(
        self, own: CollectorRegistry, others: Callable[[], Iterable[tuple[Hashable, str]]]
    ) -> None:
        """`others` returns the metrics of each other process that runs, with the process.

        A text is empty if the process does not answer.
        """
        self._own = own
        self._others = others
        self._last: dict[Hashable, _Families] = {}  # What each process that runs has told last.
        self._ended: _Families = {}  # The counts of those that have ended.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        headers = [(b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode())]
        await respond(send, 200, headers, self.text().encode())

    def text(self) -> str:
        """The sums, in Prometheus's text format."""
        told: dict[Hashable, _Families] = {}
        for process, text in self._others():
            told[process] = _read(text) if text else self._last.get(process, {})
        for process, families in self._last.items():
            if process not in told:
                _add(self._ended, families, counted_only=True)
        self._last = told
        summed = _read(generate_latest(self._own).decode())
        for families in (*told.values(), self._ended):
            _add(summed, families)
        return "".join(_lines(summed))


def with_prefixes(text: str, prefixes: tuple[str, ...]) -> str:
    """Those of the metrics in a text whose names begin with one of some prefixes."""
    heads = tuple(f"# {word} {prefix}" for word in ("HELP", "TYPE") for prefix in prefixes)
    kept = prefixes + heads
    return "\n".join(line for line in text.splitlines() if line.startswith(kept))


def _add(to: _Families, families: _Families, *, counted_only: bool = False) -> None:
    for name, family in families.items():
        if counted_only and family.kind not in _COUNTED:
            continue
        if name not in to:
            to[name] = _Family(family.head, family.kind)
        to[name].add(family.series, name in LARGEST)


def _read(text: str) -> _Families:
    families: _Families = {}
    head: list[str] = []
    series: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            series[name] = float(value)
        elif line.startswith("# HELP "):
            head = [line]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            family = families[name] = _Family([*head, line], kind)
            series = family.series
    return families


def _lines(families: _Families) -> Iterator[str]:
    for family in families.values():
        yield "\n".join(family.head) + "\n"
        for name, value in family.series.items():
            yield f"{name} {value}\n"
