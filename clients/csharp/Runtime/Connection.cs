// Calls to a server, repeated until it answers.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>A server, and how to call it. Methods are named "MatchService/GetView".</summary>
    public class Connection {
        private static readonly TimeSpan MaxSearch = TimeSpan.FromSeconds(60); // The server's limit.
        internal const int MaxBytes = 16 << 20; // More than a record has: what brings or claims more is no answer.
        private static readonly TimeSpan Grace = TimeSpan.FromSeconds(2); // For what a server answers at its deadline.
        private readonly Uri _server;

        /// <summary>For how long a call may take, besides the time of a search.</summary>
        public TimeSpan Timeout = TimeSpan.FromSeconds(30);

        /// <summary>For how long a call or a stream is tried again without an answer.</summary>
        public TimeSpan Patience = TimeSpan.FromSeconds(30);

        /// <summary>Headers of every call, such as those that a proxy of one's own asks for.</summary>
        public readonly Dictionary<string, string> ExtraHeaders = new Dictionary<string, string>();

        /// <summary>Raised before a call is repeated or a stream resumed, with what went wrong.</summary>
        public event Action<CroupierException> Retrying;

        /// <summary>Whether tokens may be sent in the clear to another host, in a network that is private.</summary>
        public bool Insecure;

        internal readonly ITransport Transport;

        /// <summary>A server at an address such as "https://cards.example.org". It connects with the first call.</summary>
        public Connection(string server, ITransport transport) {
            _server = new Uri(server.TrimEnd('/') + "/");
            Transport = transport;
        }

        /// <summary>Calls a method until the server answers; returns the response.</summary>
        /// <remarks>A request that changes something needs a `requestId`, as all of Croupier's can have.</remarks>
        /// <exception cref="CroupierException">The server refused, or was lost for as long as the patience lasts.</exception>
        public async Task<JObject> CallAsync(
            string method, JObject request, string token = null, CancellationToken cancel = default(CancellationToken)) {
            var patience = new Patience(this);
            while (true) {
                try {
                    return await AttemptAsync(method, request, token, cancel);
                } catch (CroupierException error) {
                    await patience.WaitAsync(error, cancel);
                }
            }
        }

        /// <summary>Calls a stream, again if it is lost, until it has ended; hands on each message.</summary>
        /// <remarks>`request` is asked before each attempt, so that it can say where to go on.</remarks>
        public Task StreamAsync(
            string method, Func<JObject> request, string token, Action<JObject> told, CancellationToken cancel = default(CancellationToken)) =>
            StreamAsync(method, request, () => token, told, Timeout + MaxSearch, Timeout + MaxSearch, Task.FromResult, cancel);

        /// <summary>The same, with a token for each attempt, and with limits to wait for the first message and for a further one.</summary>
        /// <remarks>`left` hears how a stream was lost; what it returns is waited for, unless it is null.</remarks>
        internal async Task StreamAsync(
            string method, Func<JObject> request, Func<string> token, Action<JObject> told, TimeSpan first, TimeSpan further,
            Func<CroupierException, Task<CroupierException>> left, CancellationToken cancel) {
            var patience = new Patience(this);
            while (true) {
                CroupierException lost = null;
                using (var stream = new MessageStream(this, method, request(), token(), cancel)) {
                    for (var limit = first; lost == null; limit = further) {
                        JObject message = null;
                        try {
                            message = await stream.NextAsync(limit, cancel);
                        } catch (CroupierException error) {
                            lost = error;
                            continue;
                        }
                        if (message == null) return;
                        patience.Reset();
                        told(message);
                    }
                }
                lost = await left(lost);
                if (lost != null) await patience.WaitAsync(lost, cancel);
            }
        }

        internal void Tell(CroupierException error) => Retrying?.Invoke(error);

        internal string UrlOf(string method) => new Uri(_server, "croupier.v1." + method).ToString();

        internal IDictionary<string, string> Headers(string token, string contentType, TimeSpan? timeout) {
            var headers = new Dictionary<string, string>(ExtraHeaders) {
                ["content-type"] = contentType,
                ["connect-protocol-version"] = "1",
            };
            if (timeout != null) headers["connect-timeout-ms"] = Json.Text((ulong)timeout.Value.TotalMilliseconds);
            if (token != null) headers["authorization"] = "Bearer " + token;
            if (token != null && _server.Scheme != "https" && !_server.IsLoopback && !Insecure)
                throw new CroupierException("failed_precondition", "a token is sent to another host by https alone, unless Insecure is set");
            // Else it would look like a lost connection.
            if (headers.Values.Any(value => value.Any(letter => letter < ' ' || letter > '~')))
                throw new CroupierException("unauthenticated", "a header or the token has characters other than printable ASCII");
            return headers;
        }

        private async Task<JObject> AttemptAsync(string method, JObject request, string token, CancellationToken cancel) {
            var timeout = method == "HintService/SuggestAction" ? Timeout + MaxSearch : Timeout;
            var headers = Headers(token, "application/json", timeout);
            var body = new MemoryStream(); // Not closed: a piece may come after the end.
            using (var end = CancellationTokenSource.CreateLinkedTokenSource(cancel)) {
                Received received = (bytes, count) => { body.Write(bytes, 0, count); return body.Length <= MaxBytes; };
                var post = Transport.PostAsync(UrlOf(method), headers, Json.Write(request), received, end.Token);
                try {
                    await WithinAsync(post, timeout + Grace, cancel);
                } finally {
                    end.Cancel();
                }
                var reply = await post;
                var response = Json.Read(body.ToArray());
                if (reply.Status != 200) throw CroupierException.Of(reply.Status, response, reply.RetryAfter);
                return response ?? throw new CroupierException("unknown", "the response was cut off, or is not of Croupier");
            }
        }

        /// <summary>Returns when the work is done; throws if that takes longer than the limit.</summary>
        internal async Task WithinAsync(Task work, TimeSpan limit, CancellationToken cancel) {
            using (var timer = CancellationTokenSource.CreateLinkedTokenSource(cancel)) {
                var first = await Task.WhenAny(work, Transport.DelayAsync(limit, timer.Token));
                timer.Cancel();
                cancel.ThrowIfCancellationRequested();
                if (first != work) {
                    Forget(work);
                    throw new CroupierException("deadline_exceeded", "no answer within " + limit.TotalSeconds + " s");
                }
            }
            await work;
        }

        /// <summary>Lets work end by itself; nobody needs to hear how.</summary>
        internal static async void Forget(Task work) {
            try {
                await work;
            } catch (Exception) {
                // Whoever needs to know has been told.
            }
        }
    }
}
