## How long to wait between the attempts of a call, and when to give up.
class_name CroupierPatience
extends RefCounted

const _FIRST := 0.1
const _MOST := 2.0

var _seconds: float
var _pause := _FIRST
var _since_msec := -1


## [param seconds] is for how long to try without an answer.
func _init(seconds: float) -> void:
	_seconds = seconds


## Starts the time over, because the server has answered.
func reset() -> void:
	_pause = _FIRST
	_since_msec = -1


## The seconds until the next attempt; negative if there should be none.
func pause_after(error: CroupierError) -> float:
	if _since_msec < 0:
		_since_msec = Time.get_ticks_msec()
	# A fifth more or less, so that the clients of a lost server come back apart.
	var pause := error.retry_after if error.retry_after > 0.0 else _pause * randf_range(0.8, 1.2)
	if not error.may_pass() or (Time.get_ticks_msec() - _since_msec) / 1000.0 + pause > _seconds:
		return -1.0
	_pause = minf(2.0 * _pause, _MOST)
	return pause
