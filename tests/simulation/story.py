"""What led to a fault: the entries of the matches that it names, who sent them, and to whom."""

import re

from service.hosting.entries import EntryKind

# What a client calls for an entry of a kind. The log hides the request_ids of JOIN and TOKEN.
_METHODS = {
    EntryKind.ACTION: "SubmitAction",
    EntryKind.RESIGNATION: "ResignMatch",
    EntryKind.ABORT: "AbortMatch",
    EntryKind.ENTROPY_HASH: "ContributeEntropy",
    EntryKind.ENTROPY: "ContributeEntropy",
    EntryKind.TOKEN: "ReplaceSeatToken",
    EntryKind.OFFER: "MakeOffer",
    EntryKind.ANSWER: "AnswerOffer",
    EntryKind.RESUME: "ResumeMatch",
}
_ID = re.compile(r"\b[a-z2-7]{26}\b")


def entries_named(world, text):
    """Lines with the entries of each match that a text names."""
    for match_id in dict.fromkeys(_ID.findall(text)):
        stored = world.stored(match_id)
        if stored is None:
            yield f"the log does not have {match_id}"
            continue
        header = stored.header
        created = header.created / 1000 - world.epoch
        bots, invited = header.bots, header.invited
        yield f"{match_id}: {header.game}, bots {bots}, invited {invited}, created at {created:.3f}"
        for version, entry in enumerate(stored.entries, 1):
            yield _line(world, match_id, version, entry)


def _line(world, match_id, version, entry):
    at, kind = entry.at / 1000 - world.epoch, EntryKind(entry.kind).name
    line = f"{at:12.3f}   version {version}: {kind} of seat {entry.seat}"
    if entry.kind in (EntryKind.ACTION, EntryKind.EXPIRY):
        line += f" at version {entry.expected_version}"
    sent = [
        f"client {number} to {address} at {at:.3f}"
        for at, number, method, request_id, address in world.sent.get(f"matches/{match_id}", ())
        if method == _METHODS.get(entry.kind)
        and request_id in ("", entry.request_id)
        and at < entry.at / 1000 - world.epoch + 2.0
    ]
    # Of those that have no request_id in the log, the last one.
    sent = sent if entry.kind == EntryKind.ACTION else sent[-1:]
    if sent:
        line += f", sent by {', '.join(sent)}"
    writer = "server-1"
    if world.store == "postgresql":
        writer = world.database.writers.get((match_id, version))
    return f"{line}, written by {writer}"
