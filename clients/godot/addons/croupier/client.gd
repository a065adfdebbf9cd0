## A Croupier server: its games, and the calls that need no match. Matches are [CroupierMatch].
##
## Put one node of this class into the tree, for example as an autoload, and set [member url]. Every
## call is awaited, and none blocks a frame:
## [codeblock]
## var created := await client.create_match("skystones", [CroupierClient.OPEN, CroupierClient.bot("CASUAL")])
## if created.ok:
##     var match := client.seat_of(created.value)
##     match.your_turn.connect(func(view): match.submit(view.legalActions[0]))
##     match.follow()
## [/codeblock]
## Messages are dictionaries with the schema's names in JSON, as in [code]view.legalActions[/code]:
## whole numbers are ints, 64-bit ones strings, values of enums their names. What is 0, false or
## empty is left out, so read [code]view.get("version", "0")[/code].
##
## A call whose connection is lost is repeated for [member patience] seconds. Nothing is done twice by
## that: what changes something carries a request id.
class_name CroupierClient
extends Node

## An attempt has failed, and another one will be made.
signal retried(error: CroupierError)

## The seat that the caller plays, for [method create_match].
const OPEN := {"open": {}}
## A seat for somebody else, who joins with the invitation.
const INVITED := {"invited": {}}
const _SEARCH := "HintService/SuggestAction"
const _SEARCH_SECONDS := 60.0  # The longest search of a server.
const _QUIET := 90.0  # A search says something sooner, also where it has to wait.
const _IDLE := 4  # Connections that are kept for further calls.

## Where the server's web gateway is: scheme, host and port. A token in the clear is safe on this
## machine only: use [code]https[/code] for any other.
@export var url := "http://127.0.0.1:8080":
	set(value):
		url = value
		_idle.clear()
## For how many seconds a call is tried again without an answer.
@export var patience := 30.0
## The deadline of one attempt of a call, and of the begin of a stream, in seconds.
@export var call_seconds := 30.0
## The API key of a front end; empty for none. It is no secret in a game that others can download:
## leave it on your own server.
@export var api_key := ""
## The player for whom the API key speaks.
@export var player_id := ""
## How TLS checks the server; null: by the authorities that Godot knows.
var tls: TLSOptions
## How far the server's clock is ahead of this machine's, in seconds, as of the last view.
var clock_ahead := 0.0

var _exchanges: Array[CroupierExchange] = []
var _idle: Array[HTTPClient] = []


func _init() -> void:
	process_mode = Node.PROCESS_MODE_ALWAYS  # A paused game keeps its place.


func _process(delta: float) -> void:
	for exchange: CroupierExchange in _exchanges.duplicate():
		if exchange.poll(delta):
			_exchanges.erase(exchange)
			if exchange.is_reusable() and _idle.size() < _IDLE:
				_idle.append(exchange.http)


## A seat that the server plays: "RANDOM", "BEGINNER", "CASUAL", "REGULAR", "SKILLED" or "EXPERT".
static func bot(strength: String) -> Dictionary:
	return {"bot": {"strength": "BOT_STRENGTH_%s" % strength}}


## A random UUID, for a request id.
static func new_id() -> String:
	var bytes := Crypto.new().generate_random_bytes(16)
	bytes[6] = bytes[6] & 0x0F | 0x40
	bytes[8] = bytes[8] & 0x3F | 0x80
	var hex := bytes.hex_encode()
	return "-".join([hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4), hex.substr(20)])


## Carries out any unary call of the schema, such as "CatalogService/ListGames"; repeats it while
## [method CroupierError.may_pass]. [param token] speaks for a seat or a spectator; it is in no address
## and in no log.
func ask(method: String, request := {}, token := "") -> CroupierReply:
	var waits := CroupierPatience.new(patience)
	var seconds := call_seconds + (_SEARCH_SECONDS if method == _SEARCH else 0.0)
	while true:
		var exchange := _begin(method, request, token, false, seconds)
		var error: CroupierError = await exchange.finished
		if error == null:
			return CroupierReply.new(exchange.value)
		if not await _pause(waits, error):
			return CroupierReply.new({}, error)
	return null


## Opens any stream of the schema, such as "HintService/AnalyzePosition". When it breaks it is opened
## again, with what its [member CroupierStream.request] is then. It counts as broken when it has brought
## no message for [param quiet_seconds].
func open(method: String, request: Dictionary, token := "", quiet_seconds := _QUIET) -> CroupierStream:
	var stream := CroupierStream.new(request)
	_run.call_deferred(stream, method, token, quiet_seconds)
	return stream


func _run(stream: CroupierStream, method: String, token: String, quiet_seconds: float) -> void:
	var waits := CroupierPatience.new(patience)
	var error: CroupierError
	while not stream.closed:
		var exchange := _begin(method, stream.request, token, true, call_seconds)
		exchange.quiet_seconds = quiet_seconds
		exchange.received.connect(func(message: Dictionary) -> void:
			waits.reset()
			stream.last = message
			if not stream.closed:
				stream.received.emit(message))
		stream._exchange = exchange
		error = await exchange.finished
		if error == null or stream.closed:
			break
		if error.may_pass():
			stream.broke.emit(error)
		if not await _pause(waits, error):
			break
	stream._exchange = null
	var was_closed := stream.closed
	stream.closed = true
	stream.ended.emit(null if was_closed else error)


func _begin(method: String, request: Dictionary, token: String, streams: bool, seconds: float) -> CroupierExchange:
	var kind := "application/connect+json" if streams else "application/json"
	var headers := PackedStringArray(["Content-Type: " + kind, "Connect-Protocol-Version: 1"])
	if not streams:
		headers.append("Connect-Timeout-Ms: %d" % (1000 * seconds))
	var bearer := "Bearer " + token if token else ""
	for pair: Array in [["Authorization", bearer], ["X-API-Key", api_key], ["X-Player-Id", player_id]]:
		if pair[1]:
			headers.append("%s: %s" % pair)
	var http := HTTPClient.new()
	while http.get_status() != HTTPClient.STATUS_CONNECTED and not streams and _idle:
		http = _idle.pop_back()
		http.poll()
	if http.get_status() != HTTPClient.STATUS_CONNECTED:
		http.close()
	var path := "%s/croupier.v1.%s" % [_base_path(), method]
	var exchange := CroupierExchange.new(http, _origin(), path, headers, request, streams, seconds)
	_exchanges.append(exchange)
	return exchange


func _origin() -> Dictionary:
	var secure := url.begins_with("https://")
	var place := url.get_slice("://", 1).get_slice("/", 0)
	var host := place
	var port := 443 if secure else 80
	var colon := place.rfind(":")
	if colon > place.rfind("]"):
		host = place.substr(0, colon)
		port = int(place.substr(colon + 1))
	var trust := tls if tls else TLSOptions.client()
	return {"host": host.trim_prefix("[").trim_suffix("]"), "port": port, "tls": trust if secure else null}


func _base_path() -> String:
	var rest := url.get_slice("://", 1).trim_suffix("/")
	return rest.substr(rest.find("/")) if "/" in rest else ""


func _pause(waits: CroupierPatience, error: CroupierError) -> bool:
	var seconds := waits.pause_after(error)
	if seconds < 0.0:
		return false
	await get_tree().create_timer(seconds, true, false, true).timeout
	retried.emit(error)
	return true


## Lists the games, without their cards: "games".
func list_games(language := "") -> CroupierReply:
	return await ask("CatalogService/ListGames", {"languageCode": language})


## Describes a game in full, such as "skystones": "game", with its cards and phrases ([CroupierWords]).
func get_game(game: String, language := "") -> CroupierReply:
	return await ask("CatalogService/GetGame", {"name": "games/" + game, "languageCode": language})


## Creates a match of a game by its default rules, or with the fields of [param more], such as
## "timeControl", "ruleset" or "hintPolicy". [param seats] are [constant OPEN], [constant INVITED] or
## [method bot], seat 0 first. The answer has "name", "seatTokens" and "invitations".
func create_match(game: String, seats: Array, more := {}) -> CroupierReply:
	var request := {"seats": seats, "requestId": new_id()}
	request.merge(more, true)
	if not request.has("ruleset"):
		var described := await get_game(game)
		if not described.ok:
			return described
		request.ruleset = CroupierJson.part(described.part("game"), "defaultRuleset")
	return await ask("MatchService/CreateMatch", request)


## Shows what an invitation is for, and whether it can be used.
func get_invitation(invitation: String) -> CroupierReply:
	return await ask("MatchService/GetInvitation", {"invitation": invitation})


## Joins the seat of an invitation. A game that keeps [param request_id] before it calls can call again
## after a crash, and gets the same token.
func join_match(invitation: String, display_name := "", request_id := new_id()) -> CroupierReply:
	var request := {"invitation": invitation, "displayName": display_name, "requestId": request_id}
	return await ask("MatchService/JoinMatch", request)


## The seat of an answer of [method create_match], [method join_match] or [method CroupierMatch.rematch]
## that the caller plays; of two open ones the first, or number [param number] among them.
func seat_of(created: Dictionary, number := 0) -> CroupierMatch:
	var tokens := CroupierJson.parts(created, "seatTokens") + [CroupierJson.part(created, "seatToken")]
	return match_of(CroupierJson.text(created, "name"), CroupierJson.text(tokens[mini(number, tokens.size() - 1)], "token"))


## A match by its name and the token of a seat or a spectator, such as those of an earlier run of the
## game. It is a child of this node; [method CroupierMatch.follow] begins.
func match_of(match_name: String, token: String) -> CroupierMatch:
	var made := CroupierMatch.new()
	made.client = self
	made.match_name = match_name
	made.token = token
	add_child(made)
	return made


## Lists the puzzles of a game: "puzzles", and "nextPageToken" if there are more.
func list_puzzles(game: String, page_token := "") -> CroupierReply:
	return await ask("PuzzleService/ListPuzzles", {"parent": "games/" + game, "pageToken": page_token})


## Returns one puzzle with the view to decide from: "puzzle".
func get_puzzle(puzzle: String) -> CroupierReply:
	return await ask("PuzzleService/GetPuzzle", {"name": puzzle})


## Says whether an action is the answer of a puzzle ("correct"), and what the answer is ("hint").
func solve_puzzle(puzzle: String, action: Dictionary) -> CroupierReply:
	return await ask("PuzzleService/SolvePuzzle", {"name": puzzle, "action": action})


## Reads a time of the server, such as a deadline, in seconds since 1970.
static func seconds_of(time: String) -> float:
	var fraction := time.trim_suffix("Z").get_slice(".", 1) if "." in time else "0"
	return Time.get_unix_time_from_datetime_string(time.substr(0, 19)) + float("0." + fraction)
