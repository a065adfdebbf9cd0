## A seat of a match, or a spectator of it: what it sees, and what it does.
##
## Made by [method CroupierClient.seat_of] or [method CroupierClient.match_of]. After [method follow],
## signals tell what happens, through lost connections and servers, until the match is over. Free the
## node to leave. The name and the token are all that another run of the game needs to come back.
class_name CroupierMatch
extends Node

## The view has changed. [param events] are those since the view before, each told once and in order.
signal view_changed(view: Dictionary, events: Array)
## This seat owes a decision: one of [code]view.legalActions[/code]. Told once for each, and again after a
## pause. The view may go on while the decision stays: see [method is_your_turn].
signal your_turn(view: Dictionary)
## The match is over.
signal ended(result: Dictionary)
## Whether the stream of the match stands. While it does not, it is tried again.
signal connection_changed(connected: bool)
## Whether the other player is there has changed: "SEAT_PRESENCE_HERE", "SEAT_PRESENCE_AWAY" or "".
signal presence_changed(presence: String)
## The match cannot be followed any more: [method follow] tries it anew.
signal failed(error: CroupierError)

const _SILENT := 2.5  # So many heartbeats without one: the stream is lost.
# The game does not go on by these events.
const _BESIDE := ["seatTokenReplaced", "offerMade", "offerAnswered"]

## How often the server proves that the stream lives, in seconds, from 1 to 60.
var heartbeat := 10.0
## The server.
var client: CroupierClient
## The name, "matches/{match}".
var match_name: String
## The secret by which the caller holds the seat. Show it to nobody.
var token: String
## What the holder of the token knows of the match; empty before the first view. It is never older than
## an answer that this node has had.
var view := {}
## The caller's seat; -1 for a spectator, and before the first view.
var seat: int:
	get:
		return CroupierJson.number(view, "seat", -1)
## Whether the stream stands.
var connected := false
## Whether the other player is there, if the server tells.
var other_seat := ""

var _stream: CroupierStream
var _told := -1  # The last version whose events were told.
var _asked := -1  # The version at which `your_turn` was told of the decision that is owed; -1: not yet.
var _takebacks := 0  # How often a decision was taken back before.
var _over := false


func _exit_tree() -> void:
	leave()


## The version of the view.
func version() -> int:
	return CroupierJson.number(view, "version")


## Whether this seat owes a decision that it has not made ahead.
func is_your_turn() -> bool:
	var ahead := CroupierJson.part(view, "decisionsAhead")
	return not CroupierJson.parts(view, "legalActions").is_empty() \
		and (CroupierJson.parts(ahead, "actions").is_empty() or ahead.has("endReason"))


## Reads the view, and follows the match from there on until it is over.
func follow() -> void:
	leave()
	var reply := await ask("GetView")
	if not reply.ok:
		failed.emit(reply.error)
		return
	_take(CroupierJson.number(reply.part("view"), "version"), [], reply.part("view"))
	if _over or _stream:
		return
	_stream = client.open("MatchService/WatchMatch", {
		"name": match_name, "afterVersion": str(version()), "etag": view.get("etag", ""),
		"heartbeatInterval": "%.3fs" % heartbeat
	}, token, _SILENT * heartbeat)
	_stream.received.connect(_on_received)
	_stream.broke.connect(func(_error: CroupierError) -> void: _connect(false))
	_stream.ended.connect(_on_ended.bind(_stream))


## Ends the stream; the match goes on.
func leave() -> void:
	if _stream:
		var stream := _stream
		_stream = null
		stream.close()
	_connect(false)


## Submits a decision, one of [code]view.legalActions[/code]. With [param then], decides ahead: the server
## makes those in order as soon as the seat owes them. They end when something is shown that is not of
## this seat, unless [param then_unless] is "THEN_UNLESS_ILLEGAL". The view is the one after it when this
## returns; the error [method CroupierError.is_late] if the match has gone on.
func submit(action: Dictionary, then: Array = [], then_unless := "") -> CroupierReply:
	var expected := version()
	var request := {
		"expectedVersion": str(expected), "action": action, "requestId": CroupierClient.new_id(),
		"etag": view.get("etag", ""), "thenActions": then
	}
	if then_unless:
		request.thenUnless = then_unless
	var reply := await ask("SubmitAction", request)
	if reply.ok:
		if expected >= _asked:
			_asked = -1  # What is owed from now on is another decision.
		var newer := CroupierJson.number(reply.part("view"), "version")
		# The stream tells versions between, and with them their events.
		var next := newer == _told + 1
		_take(newer if next else _told, CroupierJson.parts(reply.value, "events") if next else [], reply.part("view"))
	return reply


## Takes back the decisions ahead that are not made yet.
func cancel_decisions_ahead() -> CroupierReply:
	return await _act("CancelDecisionsAhead")


## Resigns: the other seat wins.
func resign() -> CroupierReply:
	return await _act("ResignMatch")


## Ends the match without a result, before both seats have decided.
func abort() -> CroupierReply:
	return await _act("AbortMatch")


func _act(method: String) -> CroupierReply:
	var reply := await ask(method)
	if reply.ok:
		_take(_told, [], reply.part("view"))
	return reply


## Carries out a call of MatchService for this seat, such as "GetRecord" after the end.
func ask(method: String, request := {}) -> CroupierReply:
	request.name = match_name
	var reply := await client.ask("MatchService/" + method, request, token)
	var time := CroupierJson.text(reply.value, "serverTime")
	if time:
		client.clock_ahead = CroupierClient.seconds_of(time) - Time.get_unix_time_from_system()
	return reply


## Searches for what to play, for [param seconds]; each message has a "hint" that has grown, the last one
## "finalReport". [method CroupierStream.close] ends the search. [param more] are fields of Search, such as
## "beliefWorlds".
func analyze(seconds := 5.0, more := {}) -> CroupierStream:
	var search := {"matchName": match_name, "limits": {"time": "%.3fs" % seconds}}
	search.merge(more, true)
	return client.open("HintService/AnalyzePosition", {"search": search}, token)


## Searches for what to play, with a number of iterations: "hint".
func suggest(iterations := 1000) -> CroupierReply:
	return await client.ask("HintService/SuggestAction", {
		"search": {"matchName": match_name, "limits": {"iterations": str(iterations)}}
	}, token)


## Judges the decisions of a match that is over: a stream of ReviewMatchResponse, the review last.
## [param more] are fields of ReviewMatchRequest.
func review(more := {}) -> CroupierStream:
	var request := {"matchName": match_name}
	request.merge(more, true)
	return client.open("ReviewService/ReviewMatch", request, token)


## Asks for a rematch of a match that is over: the answer is for [method CroupierClient.seat_of].
func rematch() -> CroupierReply:
	return await ask("Rematch")


## Replaces the token, which others may know; it is [member token] then, and the match is followed on.
func replace_token() -> CroupierReply:
	var follows := _stream != null
	leave()  # The server would end the stream, as the old token is void.
	var reply := await ask("ReplaceSeatToken", {"requestId": CroupierClient.new_id()})
	if reply.ok:
		token = CroupierJson.text(reply.part("seatToken"), "token", token)
	if follows:
		follow()
	return reply


## The seconds that a seat has for its decision, by the server's clock; INF without a clock.
func seconds_left(of_seat: int) -> float:
	for clock: Dictionary in CroupierJson.parts(CroupierJson.part(view, "clocks"), "seats"):
		var deadline := CroupierJson.text(clock, "deadline")
		if CroupierJson.number(clock, "seat") == of_seat and deadline:
			var now := Time.get_unix_time_from_system() + client.clock_ahead
			return maxf(0.0, CroupierClient.seconds_of(deadline) - now)
	return INF


func _on_received(message: Dictionary) -> void:
	_connect(true)
	var presence := CroupierJson.text(message, "otherSeat")
	if presence and presence != other_seat:
		other_seat = presence
		presence_changed.emit(other_seat)
	var newest := CroupierJson.number(message, "version")
	if message.get("upToDate"):
		_take(_told, [], CroupierJson.part(message, "view"))
	elif newest > _told:  # Else it is what no server of ours says.
		_stream.request.afterVersion = str(newest)
		_stream.request.etag = CroupierJson.text(message, "etag")
		_take(newest, CroupierJson.parts(message, "events"), CroupierJson.part(message, "view"))


## Takes what was told: the events of a version unless they were told before, and the view unless it is
## older than ours.
func _take(newest: int, events: Array, newer: Dictionary) -> void:
	var news := [] if newest <= _told else events
	_told = maxi(_told, newest)
	if news and newest > _asked and news.any(_goes_on):
		_asked = -1
	var is_newer := newer and newer != view \
		and (not view or CroupierJson.number(newer, "version") >= version())
	if is_newer:
		view = newer
	if is_newer or news:
		view_changed.emit(view, news)
	if is_newer:
		_ask()
	if view.get("result") is Dictionary and not _over and (newest >= version() or _stream == null):
		_over = true
		ended.emit(view.result)


func _ask() -> void:
	var takebacks := CroupierJson.number(view, "takebackCount")
	if is_your_turn() and (_asked < 0 or takebacks != _takebacks):
		_asked = version()
		_takebacks = takebacks
		your_turn.emit(view)


# Whether a seat that owes a decision may owe another one after an event.
func _goes_on(event: Dictionary) -> bool:
	if event.has("seatDecided"):
		return CroupierJson.number(CroupierJson.part(event, "seatDecided"), "seat") == seat
	return not _BESIDE.any(func(each: String) -> bool: return each in event)


func _on_ended(error: CroupierError, stream: CroupierStream) -> void:
	if stream != _stream:
		return
	_stream = null
	_connect(false)
	if error and error.reason == "VERSION_IN_FUTURE" and error.metadata.has("current_version"):
		# The server's log was restored and has lost what we know: begin with what it has.
		view = {}
		_told = -1
		_asked = -1
		follow()
	elif error:
		failed.emit(error)


func _connect(stands: bool) -> void:
	if stands != connected:
		connected = stands
		connection_changed.emit(stands)
