## Plays whole matches against a bot, several at once, and tells what it has seen and done: one line of
## JSON for each match, and one with the repeated calls at the end. It plays at least MATCHES, and until
## the file "enough" is there. scripts/check_godot.py runs it.
##
##     godot --headless --script res://tests/player.gd -- URL GAME MATCHES AT_ONCE SEED THINK_SECONDS
extends SceneTree

const CLOCK := {
	"perDecision": "1.500s", "onExpiry": "EXPIRY_POLICY_DEFAULT_ACTION", "maxDefaultActions": 20
}

var client: CroupierClient
var game := ""
var think := 0.0
var waiting := 0
var running := 0
var retried := 0
var words: CroupierWords
var dues := {}  # By seat: the view of its newest decision.


func _initialize() -> void:
	var given := OS.get_cmdline_user_args()
	game = given[1]
	waiting = int(given[2])
	seed(int(given[4]))
	think = float(given[5])
	client = CroupierClient.new()
	client.url = given[0]
	client.patience = INF  # The checker ends a player that hangs.
	client.call_seconds = 15.0
	client.retried.connect(func(_error: CroupierError) -> void: retried += 1)
	root.add_child(client)
	begin.call_deferred(int(given[3]))


func begin(at_once: int) -> void:
	var described := await client.get_game(game)
	words = CroupierWords.new(described.value.game)
	for number: int in at_once:
		play_on()
	while running > 0:
		await process_frame
	print(JSON.stringify({"retried": retried}))
	quit()


## Plays one match after the other.
func play_on() -> void:
	running += 1
	while waiting > 0 or not FileAccess.file_exists("res://enough"):
		waiting -= 1
		await play(waiting)
	running -= 1


## Plays a match to its end; every third one has a clock, which the player lets run out at times.
func play(number: int) -> void:
	var clocked := number % 3 == 0
	var seats := [CroupierClient.bot("RANDOM"), CroupierClient.OPEN]
	if number % 2:
		seats.reverse()
	var created := await client.create_match(game, seats, {"timeControl": CLOCK} if clocked else {})
	if not created.ok:
		return fail("CreateMatch: %s" % created.error)
	var seat := client.seat_of(created.value)
	seat.heartbeat = 1.0
	var seen := {
		"name": seat.match_name, "token": seat.token, "clocked": clocked, "events": [], "said": [], "done": [],
		"refused": [], "asking": 0, "breaks": 0, "hints": 0, "faults": []
	}
	var answered := [-1]  # The newest version of an answer.
	seat.view_changed.connect(func(view: Dictionary, events: Array) -> void:
		var version := int(view.get("version", "0"))
		seen.get_or_add("from", version)
		if version < answered[0]:
			seen.faults.append("a view of version %d after an answer of %d" % [version, answered[0]])
		answered[0] = version
		seen.events.append_array(events)
		words.me = seat.seat
		for event: Dictionary in events:
			seen.said.append(words.sentence("event", event)))
	seat.connection_changed.connect(func(stands: bool) -> void:
		seen.breaks += 0 if stands else 1)
	seat.failed.connect(func(error: CroupierError) -> void:
		seen.faults.append("failed: %s" % error)
		seat.ended.emit({}))
	seat.your_turn.connect(func(view: Dictionary) -> void: decide(seat, seen, view, answered))
	seat.follow.call_deferred()
	await seat.ended
	await process_frame
	while seen.asking > 0:  # The stream may tell the end before the answer comes.
		await process_frame
	seen.breaks -= 1  # That of the end.
	seen.result = seat.view.get("result", {})
	words.me = seat.seat
	seen.over = words.over_sentence(seat.view)
	seat.queue_free()
	print(JSON.stringify(seen))


## Makes one decision: at random, now and then after a hint or too late.
func decide(seat: CroupierMatch, seen: Dictionary, view: Dictionary, answered: Array) -> void:
	var late: bool = seen.clocked and randf() < 0.05
	dues[seat] = view
	await create_timer(2.5 if late else think * randf()).timeout
	if not is_instance_valid(seat) or dues[seat] != view or not seat.is_your_turn():
		return  # The clock has decided, or the match is over.
	if randf() < 0.05:
		var analysis := seat.analyze(0.3)
		analysis.received.connect(func(_message: Dictionary) -> void: seen.hints += 1)
		await analysis.finish()
		if not is_instance_valid(seat) or dues[seat] != view or not seat.is_your_turn():
			return
	view = seat.view  # The other seat may have decided meanwhile, in secret.
	var action: Dictionary = view.legalActions.pick_random()
	if "{" in words.sentence("action", action):
		seen.faults.append("an action in words: %s" % action)
	seen.asking += 1
	var reply := await seat.submit(action)
	seen.asking -= 1
	if reply.ok:
		answered[0] = maxi(answered[0], int(reply.value.view.version))
		print("decided")
		seen.done.append([int(view.get("version", "0")), action])
		if seat.version() < answered[0]:
			seen.faults.append("the view is older than the answer")
	else:
		seen.refused.append(reply.error.reason if reply.error.reason else str(reply.error))


func fail(text: String) -> void:
	print(JSON.stringify({"failed": text}))
	quit(1)
