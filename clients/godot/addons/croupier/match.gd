## A seat of a match, or a spectator of it: what it sees, and what it does.
##
## Made by [method CroupierClient.seat_of] or [method CroupierClient.match_of]. After [method follow],
## signals tell what happens, through lost connections and servers, until the match is over. Free the
## node to leave. The name and the token are all that another run of the game needs to come back.
class_name CroupierMatch
extends Node

## The view has changed. [param events] are those since the view before, each told once and in order.
signal view_changed(view: Dictionary, events: Array)
## This seat owes a decision: one of [code]view.legalActions[/code].
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
		return view.get("seat", -1)
## Whether the stream stands.
var connected := false
## Whether the other player is there, if the server tells.
var other_seat := ""

var _stream: CroupierStream
var _told := -1  # The last version whose events were told.
var _asked := -1  # The last version at which `your_turn` was told.
var _over := false


func _exit_tree() -> void:
	leave()


## The version of the view.
func version() -> int:
	return int(view.get("version", "0"))


## Whether this seat owes a decision that it has not made ahead.
func is_your_turn() -> bool:
	var ahead: Dictionary = view.get("decisionsAhead", {})
	return not view.get("legalActions", []).is_empty() \
		and (ahead.get("actions", []).is_empty() or ahead.has("endReason"))


## Reads the view, and follows the match from there on until it is over.
func follow() -> void:
	leave()
	var reply := await ask("GetView")
	if not reply.ok:
		failed.emit(reply.error)
		return
	_take(int(reply.part("view").get("version", "0")), [], reply.part("view"))
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
## returns; the error is "STALE_VERSION" if the match has gone on.
func submit(action: Dictionary, then: Array = [], then_unless := "") -> CroupierReply:
	var request := {
		"expectedVersion": str(version()), "action": action, "requestId": CroupierClient.new_id(),
		"etag": view.get("etag", "")
	}
	if then:
		request.thenActions = then
	if then_unless:
		request.thenUnless = then_unless
	var reply := await ask("SubmitAction", request)
	if reply.ok:
		var newer := int(reply.part("view").get("version", "0"))
		# The stream tells versions between, and with them their events.
		var next := newer == _told + 1
		_take(newer if next else _told, reply.value.get("events", []) if next else [], reply.part("view"))
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
	if reply.ok and reply.value.has("serverTime"):
		client.clock_ahead = CroupierClient.seconds_of(reply.value.serverTime) \
			- Time.get_unix_time_from_system()
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
		token = reply.part("seatToken").get("token", token)
	if follows:
		follow()
	return reply


## The seconds that a seat has for its decision, by the server's clock; INF without a clock.
func seconds_left(of_seat: int) -> float:
	for clock: Dictionary in view.get("clocks", {}).get("seats", []):
		if clock.get("seat", 0) == of_seat and clock.has("deadline"):
			var now := Time.get_unix_time_from_system() + client.clock_ahead
			return maxf(0.0, CroupierClient.seconds_of(clock.deadline) - now)
	return INF


func _on_received(message: Dictionary) -> void:
	_connect(true)
	if message.has("otherSeat") and message.otherSeat != other_seat:
		other_seat = message.otherSeat
		presence_changed.emit(other_seat)
	var newest := int(message.get("version", "0"))
	if not message.get("upToDate", false):
		_stream.request.afterVersion = str(newest)
		_stream.request.etag = message.get("etag", "")
		_take(newest, message.get("events", []), message.get("view", {}))
	elif message.has("view"):
		_take(_told, [], message.view)


## Takes what was told: the events of a version unless they were told before, and the view unless it is
## older than ours.
func _take(newest: int, events: Array, newer: Dictionary) -> void:
	var news := [] if newest <= _told else events
	_told = maxi(_told, newest)
	var is_newer := newer and newer != view \
		and (not view or int(newer.get("version", "0")) >= version())
	if is_newer:
		view = newer
	if is_newer or news:
		view_changed.emit(view, news)
	if is_newer and is_your_turn() and version() > _asked:
		_asked = version()
		your_turn.emit(view)
	if view.has("result") and not _over and (newest >= version() or _stream == null):
		_over = true
		ended.emit(view.result)


func _on_ended(error: CroupierError, stream: CroupierStream) -> void:
	if stream != _stream:
		return
	_stream = null
	_connect(false)
	if error and error.reason == "VERSION_IN_FUTURE":
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
