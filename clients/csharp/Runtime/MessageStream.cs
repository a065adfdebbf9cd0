// The messages of one streaming call.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>Unwraps the envelopes of Connect: a byte of flags, the size in four bytes, a message.</summary>
    internal sealed class MessageStream : IDisposable {
        private const int EnvelopeBytes = 5, EndFlag = 2;
        private readonly Connection _connection;
        private readonly CancellationTokenSource _end = new CancellationTokenSource();
        private readonly CancellationTokenRegistration _cancelled;
        private readonly object _lock = new object();
        private readonly Queue<byte[]> _messages = new Queue<byte[]>();
        private byte[] _piece = new byte[EnvelopeBytes]; // What comes next: an envelope, or its message.
        private int _have;
        private int _flags = -1; // Of the envelope whose message comes; -1: the envelope comes.
        private List<byte> _refused = new List<byte>(); // The body of a response that is no stream.
        private bool _begun, _ended;
        private Exception _error;
        private TaskCompletionSource<bool> _news;

        public MessageStream(Connection connection, string method, JObject request, string token, CancellationToken cancel) {
            _connection = connection;
            _cancelled = cancel.Register(_end.Cancel);
            var message = Json.Write(request);
            var body = new byte[EnvelopeBytes + message.Length];
            for (var i = 1; i < EnvelopeBytes; i++) body[i] = (byte)(message.Length >> 8 * (EnvelopeBytes - 1 - i));
            message.CopyTo(body, EnvelopeBytes);
            Connection.Forget(RunAsync(method, body, token));
        }

        /// <summary>Ends the call.</summary>
        public void Dispose() {
            _cancelled.Dispose();
            _end.Cancel();
        }

        /// <summary>Returns the next message; null when the stream has ended in order.</summary>
        /// <exception cref="CroupierException">It has failed, or has brought no whole message for longer than `limit`.</exception>
        public async Task<JObject> NextAsync(TimeSpan limit, CancellationToken cancel) {
            var next = WholeAsync();
            await _connection.WithinAsync(next, limit, cancel);
            return await next;
        }

        private async Task<JObject> WholeAsync() {
            while (true) {
                Task news;
                lock (_lock) {
                    if (_messages.Count > 0) return Json.Read(_messages.Dequeue()) ?? throw CutOff();
                    if (_error != null) throw _error;
                    if (_ended) return null;
                    _news = _news ?? new TaskCompletionSource<bool>();
                    news = _news.Task;
                }
                await news;
            }
        }

        private async Task RunAsync(string method, byte[] body, string token) {
            try {
                var headers = _connection.Headers(token, "application/connect+json", null);
                var reply = await _connection.Transport.PostAsync(_connection.UrlOf(method), headers, body, Take, _end.Token);
                lock (_lock) {
                    if (reply.Status != 200) _error = CroupierException.Of(reply.Status, Json.Read(_refused.ToArray()), reply.RetryAfter);
                    else if (!_ended) _error = _error ?? CutOff();
                }
            } catch (Exception error) {
                lock (_lock) _error = _error ?? error;
            }
            Wake();
        }

        private static CroupierException CutOff() => new CroupierException("unknown", "the stream was cut off");

        private void Wake() => Interlocked.Exchange(ref _news, null)?.TrySetResult(true);

        private bool Take(byte[] bytes, int count) {
            lock (_lock) {
                // No text begins as an envelope does. The status may not be known yet.
                if (!_begun && count > 0 && bytes[0] > EndFlag || _refused.Count > 0) _refused.AddRange(new ArraySegment<byte>(bytes, 0, count));
                else Unwrap(bytes, count);
                _begun |= count > 0;
                if (_refused.Count > Connection.MaxBytes) _error = _error ?? CutOff();
            }
            Wake();
            return _error == null;
        }

        private void Unwrap(byte[] bytes, int count) {
            for (var at = 0; at < count && _error == null && !_ended;) {
                var size = Math.Min(count - at, _piece.Length - _have);
                Buffer.BlockCopy(bytes, at, _piece, _have, size);
                at += size;
                _have += size;
                while (_have == _piece.Length && _error == null && !_ended) NextPiece();
            }
        }

        private void NextPiece() {
            var whole = _piece;
            _have = 0;
            if (_flags < 0) {
                var size = (long)whole[1] << 24 | (long)whole[2] << 16 | (long)whole[3] << 8 | whole[4];
                _flags = whole[0];
                if (size > Connection.MaxBytes || (_flags & ~EndFlag) != 0) _error = CutOff();
                else _piece = new byte[size];
                return;
            }
            if (_flags == 0) _messages.Enqueue(whole);
            else {
                var end = Json.Read(whole);
                var error = end?["error"] as JObject;
                if (error != null) _error = CroupierException.Of(200, error, null);
                else if (end == null || end["error"] != null) _error = CutOff();
                else _ended = true;
            }
            _flags = -1;
            _piece = new byte[EnvelopeBytes];
        }
    }
}
