## One attempt of a call over HTTP, which [CroupierClient] moves on in each frame.
class_name CroupierExchange
extends RefCounted

## A message of a stream has come.
signal received(message: Dictionary)
## The attempt is over. [param error] is null if the call has succeeded.
signal finished(error: CroupierError)

const _FRAME_MSEC := 4  # Longer than that, no frame reads: the next one goes on.
const _LAST := 2  # The flag of a stream's last envelope.
const _MOST_BYTES := 16 << 20  # More than a record has; what brings or claims more is no answer.

## The answer of a unary call.
var value: Dictionary
## Seconds without a whole message after which a stream is lost.
var quiet_seconds := 0.0
## The connection, which may carry another call if [method is_reusable].
var http: HTTPClient

var _printable := RegEx.create_from_string("^[ -~]*\\z")
var _origin: Dictionary
var _path: String
var _headers: PackedStringArray
var _body: PackedByteArray
var _streams: bool
var _deadline_msec := 0
var _begun := false  # Whether the request was sent.
var _doubted := false  # Whether TLS has failed.
var _status := 0
var _after := ""  # The header "retry-after".
var _bytes: PackedByteArray
var _quiet := 0.0
var _over := false


## [param origin] has "host", "port" and "tls"; [param seconds] is the deadline of a unary call, and of
## the headers of a stream.
func _init(
	connection: HTTPClient, origin: Dictionary, path: String, headers: PackedStringArray,
	request: Dictionary, streams: bool, seconds: float
) -> void:
	http = connection
	_origin = origin
	_path = path
	_headers = headers
	_streams = streams
	_body = JSON.stringify(request, "", false).to_utf8_buffer()
	if streams:
		var size := _body.size()
		_body = PackedByteArray([0, size >> 24, size >> 16 & 255, size >> 8 & 255, size & 255]) + _body
	_deadline_msec = Time.get_ticks_msec() + int(1000 * seconds)


## Whether the connection can carry another call.
func is_reusable() -> bool:
	return not _streams and value and http.get_status() == HTTPClient.STATUS_CONNECTED


## Ends the attempt, and what the server does for it.
func cancel() -> void:
	if not _over:
		_end(CroupierError.new("canceled", "the caller has gone"))


## Moves on; [param delta] are the seconds since the last time. Returns whether it is over.
func poll(delta: float) -> bool:
	if _over:
		return true
	var began := Time.get_ticks_msec()
	http.poll()
	match http.get_status():
		HTTPClient.STATUS_DISCONNECTED:
			if _begun:
				_close_of_body()
			elif http.connect_to_host(_origin.host, _origin.port, _origin.tls) != OK:
				_end(CroupierError.new("unavailable", "cannot connect to %s" % _origin.host))
		HTTPClient.STATUS_CONNECTED:
			if _begun:
				_close_of_body()
			elif _doubted:
				_end(CroupierError.new("failed_precondition", "the certificate of %s is not trusted" % _origin.host))
			elif _printable.search("".join(_headers)) == null:
				_end(CroupierError.new("unauthenticated", "the token or key is no printable ASCII"))
			else:
				_begun = true
				if http.request_raw(HTTPClient.METHOD_POST, _path, _headers, _body) != OK:
					_end(CroupierError.new("unavailable", "the connection was closed"))
		HTTPClient.STATUS_BODY:
			_note_head()
			_read(delta, began)
		HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING:
			pass
		HTTPClient.STATUS_TLS_HANDSHAKE_ERROR when not _doubted:
			# Lost, or not trusted? Without a check of the certificate, which sends nothing, it shows.
			_doubted = true
			http = HTTPClient.new()
			_origin.tls = TLSOptions.client_unsafe()
		_:
			_close_of_body() if _status else _end(CroupierError.new("unavailable", "no connection to %s" % _origin.host))
	if not _over and (_status == 0 or not _streams) and began > _deadline_msec:
		_end(CroupierError.new("deadline_exceeded", "no answer in time"))
	return _over


func _note_head() -> void:
	if _status == 0 and http.has_response():
		_status = http.get_response_code()
		var headers := "\n".join(http.get_response_headers()).to_lower()
		_after = headers.get_slice("retry-after:", 1).get_slice("\n", 0).strip_edges()


func _read(delta: float, began: int) -> void:
	# A frame that was long, as the game was busy or asleep, does not count in full.
	_quiet += minf(delta, 0.5)
	while not _over and http.get_status() == HTTPClient.STATUS_BODY:
		var chunk := http.read_response_body_chunk()
		if chunk.is_empty():
			break
		_bytes.append_array(chunk)
		if _bytes.size() > _MOST_BYTES:
			_end(CroupierError.new("unknown", "the answer does not end"))
		elif _streams and _status == 200:
			_unwrap()
		if Time.get_ticks_msec() - began > _FRAME_MSEC:
			break
		http.poll()
	if not _over and _streams and _quiet > quiet_seconds:
		_end(CroupierError.new("unavailable", "the stream was silent for too long"))


func _unwrap() -> void:
	var at := 0
	while not _over and _bytes.size() - at >= 5:
		var size := _bytes[at + 1] << 24 | _bytes[at + 2] << 16 | _bytes[at + 3] << 8 | _bytes[at + 4]
		if size > _MOST_BYTES or _bytes[at] & ~_LAST:
			return _end(CroupierError.new("unknown", "the answer is no stream of a Croupier server"))
		if _bytes.size() - at - 5 < size:
			break
		var message: Variant = CroupierJson.read(_bytes.slice(at + 5, at + 5 + size))
		var flags := _bytes[at]
		at += 5 + size
		if message is not Dictionary:
			_end(CroupierError.new("unknown", "a message of the stream is no JSON"))
		elif flags & _LAST:
			_end(CroupierError.from_answer(_status, message.error) if message.has("error") else null)
		else:
			_quiet = 0.0
			received.emit(message)
	_bytes = _bytes.slice(at)


func _close_of_body() -> void:
	if _over:
		return
	if _status == 0:  # The answer had no body.
		_note_head()
	if _streams and _status == 200:
		_end(CroupierError.new("unknown", "the stream has broken off"))
		return
	var answer: Variant = CroupierJson.read(_bytes)
	if _status == 200 and answer is Dictionary:
		value = answer
		_end(null)
	elif _status == 200 or _status == 0:
		_end(CroupierError.new("unknown", "the answer has broken off"))
	else:
		_end(CroupierError.from_answer(_status, answer, _after))


func _end(error: CroupierError) -> void:
	_over = true
	if error or _streams:
		http.close()
	finished.emit(error)
