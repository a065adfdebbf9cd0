"""Planted faults, which the simulation must find: mistakes that a careful person could make.

A mutant replaces one piece of text in one file, which must hold it exactly once. Most of them need
a crash, a race, a repeat or a clock at the right moment, which is what a simulation is for.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A fault: in `path`, `old` becomes `new`."""

    name: str
    path: str
    old: str
    new: str
    why: str  # It is a fault.


MUTANTS = (
    # Commit, cache and those who watch
    Mutant(
        "published-before-commit",
        "service/hosting/matches.py",
        "        status = leased_status(after)\n        committing = self._store.append(",
        "        status = leased_status(after)\n        self._watches.publish(after)\n"
        "        committing = self._store.append(",
        "watchers see an action that the log may refuse",
    ),
    Mutant(
        "cached-before-commit",
        "service/hosting/matches.py",
        "        status = leased_status(after)\n        committing = self._store.append(",
        "        status = leased_status(after)\n        self._cache.put(after)\n"
        "        committing = self._store.append(",
        "the cache is ahead of the log if the append fails",
    ),
    Mutant(
        "answered-before-commit",
        "service/hosting/matches.py",
        "                if await committing:\n                    return response",
        "                asyncio.ensure_future(committing)\n                return response",
        "an answered action may not be in the log",
    ),
    Mutant(
        "refused-append-is-answered",
        "service/hosting/matches.py",
        "                if await committing:\n                    return response",
        "                await committing\n                return response",
        "an action that another server was quicker than is answered as done",
    ),
    Mutant(
        "reply-from-an-old-state",
        "service/hosting/matches.py",
        "                    if latest.is_same(state):\n"
        "                        return write(await self._answered(outcome))",
        "                    if latest:\n"
        "                        return write(await self._answered(outcome))",
        "a replaced token still gets answers from a server that has not heard of it",
    ),
    Mutant(
        "stale-refusal",
        "service/hosting/matches.py",
        "                    if latest.is_same(state):\n                        raise\n",
        "                    if latest:\n                        raise\n",
        "a server that is behind refuses what the log allows",
    ),
    Mutant(
        "expiry-is-skipped",
        "service/hosting/matches.py",
        "                if expiry is not None:\n"
        "                    # A time is up, though no server has written it yet: that "
        "comes first.\n"
        "                    state = await self._commit_expiry(state, expiry)\n"
        "                    continue\n",
        "",
        "an action comes in after its deadline",
    ),
    Mutant(
        "watches-keep-what-was-lost",
        "service/hosting/matches.py",
        "                self._cache.drop(match_id)\n"
        "                self._watches.forget(match_id)\n",
        "                self._cache.drop(match_id)\n",
        "after a fail-over that lost entries, those who watch bring them back",
    ),
    Mutant(
        "told-only-once",
        "service/hosting/matches.py",
        "            while told < self._told[match_id]:\n",
        "            if told < self._told[match_id]:\n",
        "a change that comes while an earlier one is read is not shown",
    ),
    Mutant(
        "told-is-kept",
        "service/hosting/matches.py",
        "        finally:\n            del self._told[match_id]",
        "        else:\n            del self._told[match_id]",
        "after a failed read, watchers hear nothing of the match any more",
    ),
    Mutant(
        "lost-version-is-kept",
        "service/hosting/matches.py",
        "            entries = await self._store.read(match_id, state.version, state.time)",
        "            entries = await self._store.read(match_id, state.version)",
        "what another server has added after a loss is replayed on what was lost",
    ),
    Mutant(
        "added-to-another-branch",
        "service/hosting/matches.py",
        "            after.time_of(after.version - 1),\n",
        "            None,\n",
        "a decision on what was lost is added to what took its place",
    ),
    Mutant(
        "snapshot-of-another-branch",
        "service/hosting/history.py",
        '        b"%d" % made,\n',
        "",
        "a snapshot of what was lost takes the place of the entries",
    ),
    Mutant(
        "watches-sleep-over-a-loss",
        "service/hosting/match_cache.py",
        "        self._set_back = self._set_back or self._newest is not None\n",
        "",
        "streams go on from what was lost, and show no version of what took its place",
    ),
    Mutant(
        "a-loss-is-found-by-calls-alone",
        "service/store/postgresql_listener.py",
        "            self._doubtful = True",
        "            pass",
        "who only watches waits for ever for a decision that was lost",
    ),
    Mutant(
        "no-listener-after-commit",
        "service/hosting/matches.py",
        "        self._watches.publish(after)\n        self.commit_listener(after, status)\n\n"
        "    def _next_time",
        "        self._watches.publish(after)\n\n    def _next_time",
        "bots learn of their turn only when the lease has run out",
    ),
    Mutant(
        "commit-is-not-published",
        "service/hosting/matches.py",
        "        self._cache.put(after, used=not by_server)\n"
        "        self._watches.publish(after)\n",
        "        self._cache.put(after, used=not by_server)\n",
        "a stream does not show what its own server has committed",
    ),
    Mutant(
        "time-goes-back",
        "service/hosting/matches.py",
        "        return max(self._clock.now(), state.time)",
        "        return self._clock.now()",
        "with clocks that differ, an entry is older than the one before",
    ),
    Mutant(
        "token-is-not-checked",
        "service/hosting/matches.py",
        "                    if check_token:\n"
        "                        state.seats.check_token(caller)\n",
        "",
        "a replaced token still plays",
    ),
    Mutant(
        "idle-though-it-was-played",
        "service/hosting/matches.py",
        "            if state.can_be_idle and state.time < before:",
        "            if state.can_be_idle:",
        "a match ends as idle though somebody has just played in it",
    ),
    Mutant(
        "created-twice",
        "service/hosting/matches.py",
        "        except ValueError:\n"
        "            # Another request has created it meanwhile.\n"
        "            return await self.load(header.match_id)",
        "        except ZeroDivisionError:\n            return await self.load(header.match_id)",
        "two creations with one request_id at the same time: one fails",
    ),
    Mutant(
        "rematch-too-early",
        "service/hosting/matches.py",
        "        if not state.over:\n            raise Refusal("
        "ErrorReason.ERROR_REASON_MATCH_NOT_OVER",
        "        if False:\n            raise Refusal(ErrorReason.ERROR_REASON_MATCH_NOT_OVER",
        "a match that runs gets a rematch",
    ),
    # The cache
    Mutant(
        "cache-counts-what-it-dropped",
        "service/hosting/match_cache.py",
        "        dropped = self._states.pop(match_id, None)\n        if dropped is not None:\n"
        "            self._entries -= dropped.version",
        "        self._states.pop(match_id, None)",
        "after many matches that ended as idle, the cache takes itself for full and keeps nothing",
    ),
    Mutant(
        "handed-back",
        "service/hosting/match_cache.py",
        "        if newest is None or newest.version < state.version:\n"
        "            self._newest = state",
        "        if True:\n            self._newest = state",
        "a stream is handed an older state after a newer one",
    ),
    Mutant(
        "watch-is-kept",
        "service/hosting/match_cache.py",
        "            if not watches:\n                del self._watches[match_id]",
        "            if watches:\n                del self._watches[match_id]",
        "watches of matches that nobody watches stay in memory, and others end",
    ),
    Mutant(
        "wait-does-not-end",
        "service/hosting/match_cache.py",
        '        """Ends all waiting."""\n        self._closed = True\n        self._wake()',
        '        """Ends all waiting."""\n        self._closed = True',
        "streams do not end when the server stops",
    ),
    Mutant(
        "wake-is-lost",
        "service/hosting/match_cache.py",
        "                while not (self._closed or self._lost) and (\n"
        "                    self._newest is None or (self._newest.version <= version and "
        "not self._set_back)\n"
        "                ):\n",
        "                if not self._closed:\n",
        "a state that came before the wait is not seen, and the wait may end without a newer one",
    ),
    # Requests
    Mutant(
        "repeat-is-done-again",
        "service/hosting/requests.py",
        "    if repeated is not None:\n        return _reply_again(state, repeated, entry)\n",
        "",
        "a repeated request is refused as stale, or played twice",
    ),
    Mutant(
        "reused-request-id",
        "service/hosting/requests.py",
        "    if state.entry(version)._replace(at=entry.at) != entry:",
        "    if False:",
        "another action under the same request_id is answered as done",
    ),
    Mutant(
        "stale-version-is-taken",
        "service/hosting/requests.py",
        "    if state.is_stale(seat, expected_version):",
        "    if False:",
        "a decision that was made for an earlier position is played in a later one",
    ),
    Mutant(
        "anybody-decides",
        "service/hosting/requests.py",
        "    if seat not in state.deciders:",
        "    if seat not in (0, 1):",
        "a seat that owes nothing is told that its action is illegal, not that it has none",
    ),
    Mutant(
        "reply-of-the-newest",
        "service/hosting/requests.py",
        "    return Reply(state, version)\n\n\ndef contribute_entropy",
        "    return Reply(state, state.version)\n\n\ndef contribute_entropy",
        "a repeated request is answered with another response than the first",
    ),
    Mutant(
        "resigned-twice",
        "service/hosting/requests.py",
        "    if state.resigned == seat:\n        return Reply(state, state.version)\n",
        "",
        "a repeated resignation is refused",
    ),
    Mutant(
        "invitation-used-twice",
        "service/hosting/requests.py",
        "        if joined is not None and state.entry(joined).kind == EntryKind.JOIN:",
        "        if True:",
        "a second person gets the token of a seat that somebody sits in",
    ),
    Mutant(
        "entropy-is-contributed-twice",
        "service/hosting/requests.py",
        "    if any(each._replace(at=entry.at) == entry for each in islice(before, "
        "state.version)):\n"
        "        return Reply(state, state.version)\n",
        "",
        "a repeated contribution is refused",
    ),
    Mutant(
        "replacement-is-repeated",
        "service/hosting/requests.py",
        "        if not any(state.entry(version).seat == seat for version in later):",
        "        if True:",
        "an old replacement gets a token after a newer one",
    ),
    # The match state
    Mutant(
        "clock-is-not-restarted",
        "service/hosting/match_state.py",
        "    return clocks.restarted(changed, entry.at)",
        "    return clocks",
        "a seat pays for the time of the other one",
    ),
    Mutant(
        "both-clocks-restart",
        "service/hosting/match_state.py",
        "    changed = [seat for seat, since in enumerate(match.since) if since == match.version]",
        "    changed = [0, 1]",
        "in a simultaneous phase, the other decision resets a clock",
    ),
    Mutant(
        "bots-have-clocks",
        "service/hosting/match_state.py",
        "        return [seat for seat in self.deciders if not self.header.bots[seat]]",
        "        return list(self.deciders)",
        "a bot loses on time while its server is away",
    ),
    Mutant(
        "default-actions-are-not-reset",
        "service/hosting/match_state.py",
        "    elif entry.kind == EntryKind.ACTION and counts[entry.seat]:",
        "    elif entry.kind == EntryKind.JOIN and counts[entry.seat]:",
        "a seat that came back is taken for absent",
    ),
    Mutant(
        "seat-or-both-abandon",
        "service/hosting/match_state.py",
        "    if 2 * state.default_actions[other] >= state.default_actions[seat]:",
        "    if state.default_actions[other] > state.default_actions[seat]:",
        "a match that both have left is won by one of them",
    ),
    Mutant(
        "status-forgets-bots",
        "service/hosting/match_state.py",
        "        due = self.deadline if self.bot_due is None else self.time",
        "        due = self.deadline",
        "no server takes a bot's turn up after a crash",
    ),
    Mutant(
        "due-is-kept",
        "service/hosting/match_state.py",
        "_NEVER_DUE = MatchStatus(over=False, was_due=False)",
        "_NEVER_DUE = MatchStatus(over=True, was_due=False)",
        "matches without clocks and bots are logged as over",
    ),
    Mutant(
        "snapshot-forgets-default-actions",
        "service/hosting/match_state.py",
        "            default_actions=default_actions,\n        )\n"
        "        return (yield from state.replaying(rest))",
        "        )\n        return (yield from state.replaying(rest))",
        "after a restart from a snapshot, an absent seat counts from 0 again",
    ),
    Mutant(
        "snapshot-loses-an-entry",
        "service/hosting/match_state.py",
        "        skipped, rest = entries[: snapshot.version], entries[snapshot.version :]",
        "        skipped, rest = entries[: snapshot.version], entries[snapshot.version + 1 :]",
        "after a restart from a snapshot, one action is missing",
    ),
    Mutant(
        "entropy-without-the-secret",
        "service/hosting/match_state.py",
        "    secret = contributions.mixed_into(state.header.secret)",
        "    secret = contributions.mixed_into(b'')",
        "the deal does not depend on the secret that was published as a hash",
    ),
    Mutant(
        "written-is-kept",
        "service/hosting/match_state.py",
        "        default_actions=_count_default_actions(state.default_actions, entry),\n"
        "        written={},\n        **changed,",
        "        default_actions=_count_default_actions(state.default_actions, entry),\n"
        "        **changed,",
        "after a resignation or a join, callers are shown the view from before",
    ),
    # Clocks
    Mutant(
        "increment-twice",
        "service/hosting/clocks.py",
        "- (at - self.since[seat])) + self.control.increment",
        "- (at - self.since[seat])) + 2 * self.control.increment",
        "clocks gain more than was agreed",
    ),
    Mutant(
        "deadline-is-late",
        "service/hosting/clocks.py",
        "if deadline == first <= at)",
        "if deadline == first < at)",
        "at the deadline itself a seat may still decide",
    ),
    Mutant(
        "one-of-two-expires",
        "service/hosting/clocks.py",
        "        first = min(deadlines.values(), default=at + 1)",
        "        first = max(deadlines.values(), default=at + 1)",
        "the seat whose time was up last expires first",
    ),
    # Views and events
    Mutant(
        "events-for-the-other-seat",
        "service/hosting/views.py",
        "            if audience & (1 << viewer):",
        "            if audience & (1 << viewer) or audience & TO_PUBLIC == 1:",
        "private events of seat 0 go to everybody",
    ),
    Mutant(
        "view-of-the-other-seat",
        "service/hosting/views.py",
        "        view = wire.write_view(state.game, match.view(viewer))",
        "        view = wire.write_view(state.game, match.view(0 if state.version == 5 "
        "else viewer))",
        "at one version, everybody is shown the view of seat 0",
    ),
    Mutant(
        "views-share-a-key",
        "service/hosting/views.py",
        "    key = (viewer, fields)",
        "    key = (min(viewer, 1), fields)",
        "spectators are shown what was written for seat 1, or the other way round",
    ),
    Mutant(
        "held-decision-shows",
        "service/hosting/views.py",
        "        decided = game_pb2.SeatDecided(seat=entry.seat)\n",
        "        decided = game_pb2.SeatDecided(seat=1 - entry.seat)\n",
        "the other seat is said to have decided",
    ),
    Mutant(
        "ended-is-told-again",
        "service/hosting/views.py",
        "    if state.over and version == state.version:\n        ended",
        "    if state.over:\n        ended",
        "earlier events of a match that is over say that it ends",
    ),
    # The services
    Mutant(
        "stream-skips-a-version",
        "service/api/match_service.py",
        "                        version += 1\n",
        "                        version = state.version\n",
        "a slow reader misses events",
    ),
    Mutant(
        "stream-misses-what-fell-between",
        "service/api/match_service.py",
        "        with self._watch(request.name) as watch:\n"
        "            caller, state = await self._authenticator.enter(call, request.name)\n"
        "            version =",
        "        caller, state = await self._authenticator.enter(call, request.name)\n"
        "        with self._watch(request.name) as watch:\n"
        "            version =",
        "the token is read before the watch begins: a change between is not told",
    ),
    Mutant(
        "stream-keeps-a-replaced-token",
        "service/api/match_service.py",
        "                    state.seats.check_token(caller)\n"
        "                    if version < state.version:",
        "                    if version < state.version:",
        "a stream goes on with a token that was replaced",
    ),
    Mutant(
        "stream-does-not-say-where",
        "service/api/match_service.py",
        "                        sent = version\n",
        "                        sent = version + 1\n",
        "a stream that ends with the server says to resume after what was never sent",
    ),
    Mutant(
        "own-actions-of-others",
        "service/api/match_service.py",
        "(EntryKind.ACTION, seat)",
        "(EntryKind.ACTION, entry.seat)",
        "with skip_own_actions, a stream skips the actions of the other seat",
    ),
    Mutant(
        "rematch-token-of-the-same-seat",
        "service/api/match_service.py",
        "        match_id, seat = rematch.header.match_id, 1 - caller.seat\n",
        "        match_id, seat = rematch.header.match_id, caller.seat\n",
        "both players of a rematch may hold the token of the same seat",
    ),
    Mutant(
        "record-of-a-running-match",
        "service/api/match_service.py",
        "        if not state.over:\n            raise Refusal(\n"
        "                ErrorReason.ERROR_REASON_MATCH_NOT_OVER,\n"
        '                "the record holds hidden cards',
        "        if False:\n            raise Refusal(\n"
        "                ErrorReason.ERROR_REASON_MATCH_NOT_OVER,\n"
        '                "the record holds hidden cards',
        "hidden cards are told while the match runs",
    ),
    Mutant(
        "wait-times-out-early",
        "service/api/match_service.py",
        "                        while state.version < wanted and not (state.over or "
        "self._matches.closing):",
        "                        if state.version < wanted:",
        "a call that waits for a version is answered with an earlier one",
    ),
    Mutant(
        "token-of-another-match",
        "service/api/authentication.py",
        "        if caller.match_id != match_id:\n",
        "        if False:\n",
        "a token opens other matches by name only: the answer is of the wrong match",
    ),
    Mutant(
        "replacement-id-is-shared",
        "service/api/authentication.py",
        "        return self._hide(_JOIN_DOMAIN, request_id)",
        "        return self._hide(_JOIN_DOMAIN, '')",
        "whoever joins with any request_id gets the token of the first",
    ),
    Mutant(
        "seat-is-not-checked",
        "service/hosting/seats.py",
        "caller.seat != SPECTATOR and caller.generation != self.generations[caller.seat]",
        "caller.seat != SPECTATOR and caller.generation > self.generations[caller.seat]",
        "replaced tokens stay valid",
    ),
    Mutant(
        "engine-version-counts-replacements",
        "service/hosting/seats.py",
        "        return version - sum(replaced <= version for replaced in self.replacements)",
        "        return version",
        "a seat chooses its shuffle by replacing its token",
    ),
    # The scheduler, leases, bots and sweeps
    Mutant(
        "lease-too-long",
        "service/hosting/leases.py",
        "LEASE_MILLISECONDS = 5_000",
        "LEASE_MILLISECONDS = 5_000_000",
        "after a crash nobody takes a bot's turn up for more than an hour",
    ),
    Mutant(
        "lease-passes-the-deadline",
        "service/hosting/leases.py",
        "        due = due if deadline is None else min(due, deadline - 1)\n",
        "        due = due if deadline is None else max(due, deadline - 1)\n",
        "after a crash nobody takes a bot's turn up before the clock of the other seat runs out",
    ),
    Mutant(
        "leases-are-not-renewed",
        "service/hosting/scheduler.py",
        "        return [DueMatch(match_id, at) for match_id, at in self._leases.items() "
        "if at <= soon]",
        "        return []",
        "another server begins the same search",
    ),
    Mutant(
        "polling-dies",
        "service/hosting/scheduler.py",
        "            except Refusal:\n"
        "                pass  # The store logs its own failures; it is polled again.\n",
        "            except Refusal:\n                return\n",
        "after one failure of the store, nothing is due any more",
    ),
    Mutant(
        "change-during-a-task-is-lost",
        "service/hosting/scheduler.py",
        "                if match_id not in self._changed:\n                    break",
        "                break",
        "an entry that comes while a bot's task ends is acted on only when its lease has run out",
    ),
    Mutant(
        "task-is-kept",
        "service/hosting/scheduler.py",
        "            del self._tasks[match_id]\n",
        "",
        "the second turn of a bot never begins",
    ),
    Mutant(
        "failed-bot-holds-its-lease",
        "service/hosting/scheduler.py",
        "                if next_try is not None:\n"
        "                    await self._end_lease(match_id, next_try)\n",
        "",
        "a match that was due by mistake, or whose bot fails, is due at the wrong time",
    ),
    Mutant(
        "leases-are-not-released",
        "service/hosting/scheduler.py",
        "        await self._reschedule_all([(due, min(now, due.at)) for due in leased])",
        "        pass",
        "bots pause for seconds whenever a server is stopped",
    ),
    Mutant(
        "poll-looks-too-late",
        "service/hosting/scheduler.py",
        "        elif due < self._next_poll:\n            self._next_poll = due\n"
        "            self._wake.set()",
        "        elif due < self._next_poll:\n            self._next_poll = due",
        "a deadline before the next poll is noticed late",
    ),
    Mutant(
        "bot-choice-by-server",
        "service/hosting/bots.py",
        "        chance = _chance(state, seat)\n",
        "        chance = _chance(state, seat) + id(self) % 7\n",
        "a bot decides otherwise at another server",
    ),
    Mutant(
        "bot-does-not-forgive",
        "service/hosting/bots.py",
        "            if refusal.reason not in _DECIDED:\n                raise",
        "            raise",
        "a bot that another server was quicker than counts as failed",
    ),
    Mutant(
        "newer-rules-are-postponed",
        "service/hosting/scheduler.py",
        "                return self._clock.now()\n            self._failed",
        "                return self._next_try(state)\n            self._failed",
        "a server that does not know the rules of a match keeps its clock from those that do",
    ),
    Mutant(
        "newer-rules-are-kept",
        "service/hosting/scheduler.py",
        "                return self._clock.now()\n            self._failed",
        "                return None\n            self._failed",
        "the same, until its lease has run out",
    ),
    Mutant(
        "newer-rules-are-not-remembered",
        "service/hosting/scheduler.py",
        "                self._left_to_others.add(match_id)\n"
        "                return self._clock.now()",
        "                return self._clock.now() + 1",
        "the same, again and again, as it takes what it has given back",
    ),
    # The stores
    Mutant(
        "notices-of-others-are-skipped",
        "service/store/postgresql_listener.py",
        "            self._changes.tell(match_id, int(version))\n\n\ndef write_notices",
        "            self._changes.tell(match_id, 0)\n\n\ndef write_notices",
        "a stream learns of the other server's entries only by polling, or never",
    ),
    Mutant(
        "no-polling-for-lost-notices",
        "service/store/postgresql_listener.py",
        "        for match_id, version in heads.items():\n"
        "            self._changes.tell(match_id, version)",
        "        for _match_id, _version in heads.items():\n            pass",
        "a notification that is lost leaves a stream behind for ever",
    ),
    Mutant(
        "listener-dies",
        "service/store/postgresql_listener.py",
        "            except Exception:\n                backoff.failed()",
        "            except Exception:\n                return",
        "after one lost connection, no other server's entries are heard of",
    ),
    Mutant(
        "two-of-one-match-in-a-batch",
        "service/store/postgresql.py",
        "        self._jobs.answer(batch, [each.match_id in added for each in batch])",
        "        self._jobs.answer(batch, [True for each in batch])",
        "entries that the log has refused are answered as added",
    ),
    Mutant(
        "left-over-appends-are-lost",
        "service/store/postgresql.py",
        "        self._appends.extendleft(reversed(others))\n",
        "",
        "the second of two entries of one match is never answered",
    ),
    Mutant(
        "unsaid-changes",
        "service/store/postgresql.py",
        "                    self._changed[each.match_id] = each.version + 1\n",
        "                    self._changed[each.match_id] = each.version\n",
        "other servers are told of the version before, and learn of this one only by polling",
    ),
    Mutant(
        "in-doubt-is-added",
        "service/store/postgresql.py",
        "            self._jobs.answer(batch, [refusal(error)] * len(batch))",
        "            self._jobs.answer(batch, [True] * len(batch))",
        "an entry of which nobody knows whether it was added is taken for added",
    ),
    Mutant(
        "heads-outlive-a-failure",
        "service/store/sqlite_writer.py",
        "            if not isinstance(job, Work):\n"
        "                self.heads.pop(job.match_id, None)",
        "            if isinstance(job, Append):\n"
        "                self.heads[job.match_id] = job.version + 1",
        "after a failed commit the server takes entries for written that are not",
    ),
    Mutant(
        "connection-outlives-a-failure",
        "service/store/sqlite_writer.py",
        "                self._connection.close()\n        self._connection = None\n",
        "                self._connection.close()\n",
        "after a failed commit, all later ones fail too",
    ),
    Mutant(
        "failed-commit-is-refused",
        "service/store/sqlite_writer.py",
        "            return [faults.refusal(error) for _ in jobs]",
        "            return [False for _ in jobs]",
        "what could not be written is taken for written by another request",
    ),
    Mutant(
        "schedule-is-not-kept",
        "service/store/sqlite_writer.py",
        "                if job.status.due is None:\n"
        "                    self._due.discard(job.match_id)\n"
        "                else:\n"
        "                    self._due.add(job.match_id)",
        "                if job.status.due is None:\n"
        "                    self._due.discard(job.match_id)",
        "the schedule keeps matches that are not due any more",
    ),
    Mutant(
        "no-sync",
        "service/store/sqlite.py",
        'connection.execute("PRAGMA synchronous = FULL")',
        'connection.execute("PRAGMA synchronous = OFF")',
        "an answered action is lost when the machine loses its power",
    ),
    Mutant(
        "anchor-is-missing",
        "service/store/sqlite.py",
        "            self._anchor = self._connect()\n"
        "            sqlite_recovery.checkpoint(self._anchor, self._path, frames)\n"
        "            tables.migrate(self._anchor, self._path)\n",
        "            anchor = self._connect()\n"
        "            sqlite_recovery.checkpoint(anchor, self._path, frames)\n"
        "            tables.migrate(anchor, self._path)\n"
        "            anchor.close()\n",
        "after a failed sync, SQLite forgets how much of its log was committed",
    ),
    Mutant(
        "heads-alone",
        "service/store/sqlite_writer.py",
        "        head = heads.get(match_id, self.heads.get(match_id))",
        "        head = heads.get(match_id, self.heads.get(match_id, 0))",
        "entries that are not in memory are taken for missing",
    ),
    Mutant(
        "answers-in-another-order",
        "service/store/jobs.py",
        "        for job, answer in zip(jobs, answers, strict=True):\n"
        "            if job.future is None",
        "        for job, answer in zip(jobs, answers[::-1], strict=True):\n"
        "            if job.future is None",
        "a caller gets the answer of another one",
    ),
    Mutant(
        "gatherer-forgets",
        "service/store/jobs.py",
        "        if self._gathered and not self._committing:\n            self._gather()\n",
        "",
        "what came during a commit waits for ever",
    ),
    # Admission
    Mutant(
        "held-for-ever",
        "service/admission/budgets.py",
        "            for account in held:\n                account.hold(budget, -1)",
        "            for account in held[1:]:\n                account.hold(budget, -1)",
        "streams that have ended still count",
    ),
    Mutant(
        "spent-though-refused",
        "service/admission/budgets.py",
        "            if ahead > ROUNDING_SECONDS:\n"
        "                self._refuse(payer, budget, limit, ahead)\n"
        "            spent.append((account, full_at))",
        "            account.set_full_at(budget, full_at)\n"
        "            if ahead > ROUNDING_SECONDS:\n"
        "                self._refuse(payer, budget, limit, ahead)\n"
        "            spent.append((account, full_at))",
        "a caller that goes on calling is never let in again",
    ),
    Mutant(
        "live-matches-race",
        "service/admission/admission.py",
        "            self._ledger.check_count(principal, budget, await count() + added)\n",
        "            self._ledger.check_count(principal, budget, await count())\n",
        "calls at the same moment create more matches than a caller may have",
    ),
    Mutant(
        "refusals-wait-for-ever",
        "service/admission/admission.py",
        "        finally:\n            self._refusals_waiting -= 1",
        "        except ZeroDivisionError:\n            self._refusals_waiting -= 1",
        "what waits to be refused is counted for ever",
    ),
    Mutant(
        "review-place-is-kept",
        "service/api/review_service.py",
        "        finally:\n            self._running[principal] -= 1\n"
        "            if not self._running[principal]:\n"
        "                del self._running[principal]",
        "        except ZeroDivisionError:\n            pass\n"
        "        self._running[principal] -= 1\n"
        "        if not self._running[principal]:\n            del self._running[principal]",
        "a review that its caller has left counts for ever",
    ),
    Mutant(
        "call-runs-for-ever",
        "service/api/calls.py",
        "        self._running -= 1\n        self._ended.set()",
        "        self._running -= call.payers == ()\n        self._ended.set()",
        "a server waits for calls that have ended when it stops",
    ),
    # The feed
    Mutant(
        "feed-begins-after-what-runs",
        "service/api/feed_service.py",
        '                    cursor = "" if after is not None else _write_cursor(epoch, position)\n'
        "                    yield _write(running, request.filter, cursor)",
        '                    cursor = "" if after is not None else _write_cursor(epoch, position)\n'
        "                    yield _write(running, request.filter, cursor)\n"
        "                position = (await self._feed.end()).end",
        "what changes while the matches that run are listed is never told",
    ),
    Mutant(
        "feed-of-everybody",
        "service/api/feed_service.py",
        "    return owner is None or update.owner == owner",
        "    return True",
        "a key is told of the matches of others",
    ),
    Mutant(
        "feed-of-players",
        "service/api/match_service.py",
        "            self._tokens.owner(call),",
        "            self._creator(call),",
        "a front end is not told of the matches of its players",
    ),
    Mutant(
        "feed-goes-on-past-a-page",
        "service/hosting/feed.py",
        "        self._kept += updates\n        self._end = found.end",
        "        self._kept += updates[1:]\n        self._end = found.end",
        "followers at the end of the feed miss an update",
    ),
    Mutant(
        "feed-outlives-a-fail-over",
        "service/hosting/feed.py",
        "            if found.epoch != epoch:\n                raise cursor_expired()",
        '            if found.epoch != epoch and found.epoch == "":\n'
        "                raise cursor_expired()",
        "positions of another server of the database are taken for those of this one",
    ),
    Mutant(
        "update-of-the-state-before",
        "service/hosting/matches.py",
        "        status = leased_status(after)\n        committing = self._store.append(",
        "        status = leased_status(after)\n"
        "        known = self._known(after.header.match_id) or after\n"
        "        status = status._replace(feed=leased_status(known).feed)\n"
        "        committing = self._store.append(",
        "the feed tells who was due before",
    ),
    Mutant(
        "rematch-without-an-owner",
        "service/hosting/creation.py",
        "        rematch_of=header.match_id,",
        '        rematch_of=header.match_id,\n        owner="",',
        "a front end is not told of the rematch of its match",
    ),
    # Browsers, and the web gateway
    Mutant(
        "stream-outlives-its-browser",
        "service/gateway/rpc.py",
        "            async with aclosing(responses):\n"
        "                async for response in responses:\n"
        "                    yield response",
        "            async for response in responses:\n                yield response",
        "a stream that a browser has left goes on and is counted",
    ),
    Mutant(
        "refusal-without-details",
        "service/gateway/rpc.py",
        "    return ConnectError(CODES[status.code], status.message, details)",
        "    return ConnectError(CODES[status.code], status.message, details[1:])",
        "a page is not told why it was refused",
    ),
    Mutant(
        "deadline-of-a-browser-is-not-passed-on",
        "service/gateway/rpc.py",
        "            lambda: None if ctx.timeout_ms is None else ctx.timeout_ms / 1000,",
        "            lambda: None,",
        "a call that waits is cut off at its deadline, and says nothing",
    ),
    Mutant(
        "json-ends-with-a-comma",
        "service/gateway/rpc.py",
        '        written += b"}" if fields == b"{}" else b"," + fields[1:]',
        '        written += b"," + fields[1:]',
        "messages of large parts alone are no JSON",
    ),
    Mutant(
        "request-is-expected-for-good",
        "service/listening/http.py",
        "        elif self._timer is not None:\n"
        "            self._timer.cancel()\n"
        "            self._timer = None\n"
        "        if self.cycle",
        "        if self.cycle",
        "a stream is cut off when its request would have had to be complete",
    ),
    Mutant(
        "lost-connection-is-counted",
        "service/listening/http.py",
        "    def connection_lost(self, exc: Exception | None) -> None:\n        self._forget()\n",
        "    def connection_lost(self, exc: Exception | None) -> None:\n"
        "        if exc is not None:\n            self._forget()\n",
        "connections that browsers have closed count for good",
    ),
    Mutant(
        "response-is-cut-off-by-a-stop",
        "service/listening/http.py",
        "        else:\n            self.cycle.keep_alive = False",
        "        else:\n            self.transport.close()",
        "the last message of a stream, which says where to resume, is lost",
    ),
)
