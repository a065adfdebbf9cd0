## Why a call has failed, as data.
##
## Decide by [member reason], never by [member message]. An error without a reason is not of the
## server: the connection was lost, or a proxy has answered.
class_name CroupierError
extends RefCounted

## Codes that a lost connection, or a proxy that has lost its server, can show as.
const _LOST := ["unavailable", "internal", "unknown", "canceled", "deadline_exceeded", "aborted"]
const _BY_STATUS := {
	400: "internal", 401: "unauthenticated", 403: "permission_denied", 404: "unimplemented",
	408: "deadline_exceeded", 429: "unavailable", 502: "unavailable", 503: "unavailable",
	504: "unavailable",
}

## The code by its name in Connect, such as "failed_precondition".
var code: String
## What happened, in English, for developers.
var message: String
## A name of ErrorReason, such as "STALE_VERSION"; empty if the server itself has not answered.
var reason := ""
## What the reason comes with, such as "current_version".
var metadata := {}
## The fields of the request that are at fault, each with "field", "description" and "reason".
var fields: Array[Dictionary] = []
## The seconds after which the same call may succeed; negative if the server has not said.
var retry_after := -1.0


func _init(code_ := "unknown", message_ := "") -> void:
	code = code_
	message = message_


func _to_string() -> String:
	return "%s%s: %s" % [code, " (%s)" % reason if reason else "", message]


## Whether the same call may succeed later, or at another server.
func may_pass() -> bool:
	if reason:
		return code == "unavailable" or (code == "resource_exhausted" and retry_after >= 0.0)
	return code in _LOST


## Whether a decision, or a hint for one, came too late: the match has gone on, or is paused.
func is_late() -> bool:
	return reason in ["STALE_VERSION", "NOT_TO_DECIDE", "MATCH_OVER", "MATCH_PAUSED"]


## The error in an answer of Connect; of any other answer by its status of HTTP, and by its header
## "retry-after".
static func from_answer(status: int, answer: Variant, after := "") -> CroupierError:
	var of: Dictionary = answer if answer is Dictionary else {}
	var error := CroupierError.new(CroupierJson.text(of, "code"), CroupierJson.text(of, "message"))
	if not error.message:
		error.message = "HTTP status %d" % status
	if after.is_valid_int():
		error.retry_after = int(after)
	if not error.code:
		error.code = _BY_STATUS.get(status, "unknown")
		if status / 100 == 3:
			error.code = "failed_precondition"
			error.message += ": redirects are not followed; is the address right?"
		return error
	for detail: Dictionary in CroupierJson.parts(of, "details"):
		error._add(CroupierJson.text(detail, "type"), _bytes(CroupierJson.text(detail, "value")))
	return error


func _add(type: String, bytes: PackedByteArray) -> void:
	match type:
		"google.rpc.ErrorInfo":
			var info := _read(bytes)
			if _text(info, 2) == "croupier.v1":
				reason = _text(info, 1)
				for entry: PackedByteArray in info.get(3, []):
					var pair := _read(entry)
					metadata[_text(pair, 1)] = _text(pair, 2)
		"google.rpc.BadRequest":
			for each: PackedByteArray in _read(bytes).get(1, []):
				var of := _read(each)
				fields.append({field = _text(of, 1), description = _text(of, 2), reason = _text(of, 3)})
		"google.rpc.RetryInfo":
			for each: PackedByteArray in _read(bytes).get(1, []):
				var delay := _read(each)
				retry_after = maxf(0.0, delay.get(-1, [0])[0] + delay.get(-2, [0])[0] / 1e9)


static func _bytes(text: String) -> PackedByteArray:
	return Marshalls.base64_to_raw(text + "=".repeat((4 - text.length() % 4) % 4))


static func _text(message_: Dictionary, number: int) -> String:
	return message_[number][0].get_string_from_utf8() if message_.has(number) else ""


## The fields of a message in Protobuf's binary form, each with all its values, numbers under the
## negative of the field: the details of errors have no other form.
static func _read(bytes: PackedByteArray) -> Dictionary:
	var found := {}
	var at := [0]
	while at[0] < bytes.size():
		var key := _varint(bytes, at)
		match key & 7:
			0:
				found.get_or_add(-(key >> 3), []).append(_varint(bytes, at))
			2:
				var size := _varint(bytes, at)
				if size < 0 or size > bytes.size() - at[0]:
					break
				found.get_or_add(key >> 3, []).append(bytes.slice(at[0], at[0] + size))
				at[0] += size
			_:
				break  # None of these messages has another type.
	return found


static func _varint(bytes: PackedByteArray, at: Array) -> int:
	var value := 0
	var shift := 0
	while at[0] < bytes.size():
		var byte := bytes[at[0]]
		at[0] += 1
		value |= (byte & 0x7F) << shift
		shift += 7
		if byte < 0x80:
			break
	return value
