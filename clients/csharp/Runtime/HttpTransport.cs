// Requests over HttpClient: everywhere but in a browser.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Security.Authentication;
using System.Threading;
using System.Threading.Tasks;

namespace Croupier {
    /// <summary>Sends requests by HttpClient. One object serves all clients of a process.</summary>
    public sealed class HttpTransport : ITransport, IDisposable {
        // Each stream has a connection of its own, and the framework's limit is 2 for a host.
        private const int Connections = 64;
        private const int PieceBytes = 16 * 1024;
        private readonly HttpClient _http;

        /// <summary>With a `handler`, such as one that trusts another authority, takes that. It must follow no redirects.</summary>
        public HttpTransport(HttpMessageHandler handler = null) {
            handler = handler ?? new HttpClientHandler { MaxConnectionsPerServer = Connections };
            if (handler is HttpClientHandler usual) usual.AllowAutoRedirect = false;
            _http = new HttpClient(handler);
            _http.Timeout = Timeout.InfiniteTimeSpan; // The client has deadlines of its own.
            _http.DefaultRequestHeaders.ExpectContinue = false;
        }

        public void Dispose() => _http.Dispose();

        public Task DelayAsync(TimeSpan time, CancellationToken cancel) => Task.Delay(time, cancel);

        public async Task<HttpReply> PostAsync(
            string url, IDictionary<string, string> headers, byte[] body, Received received,
            CancellationToken cancel) {
            using (var request = new HttpRequestMessage(HttpMethod.Post, url)) {
                request.Content = new ByteArrayContent(body);
                foreach (var header in headers) {
                    if (header.Key == "content-type") request.Content.Headers.Add(header.Key, header.Value);
                    else request.Headers.Add(header.Key, header.Value);
                }
                using (var response = await Guard(() => _http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancel), cancel))
                // A read that waits ends by this alone in some frameworks.
                using (cancel.Register(response.Dispose)) {
                    var stream = await Guard(() => response.Content.ReadAsStreamAsync(), cancel);
                    var piece = new byte[PieceBytes];
                    int count;
                    while ((count = await Guard(() => stream.ReadAsync(piece, 0, piece.Length, cancel), cancel)) > 0)
                        if (!received(piece, count)) throw new CroupierException("unknown", "the answer is none of Croupier");
                    cancel.ThrowIfCancellationRequested();
                    IEnumerable<string> after; // Mono's compiler takes no "out var" here.
                    response.Headers.TryGetValues("retry-after", out after);
                    return new HttpReply((int)response.StatusCode, after == null ? null : after.First());
                }
            }
        }

        /// <summary>Whatever the framework throws for a lost connection becomes one exception.</summary>
        private static async Task<T> Guard<T>(Func<Task<T>> work, CancellationToken cancel) {
            try {
                return await work();
            } catch (Exception error) {
                cancel.ThrowIfCancellationRequested();
                throw new CroupierException(IsOfCertificate(error) ? "failed_precondition" : "unavailable", Say(error));
            }
        }

        private static string Say(Exception error) =>
            error.InnerException == null ? error.Message : error.Message + ": " + Say(error.InnerException);

        /// <summary>Whether the server's certificate is not trusted, which another attempt does not mend.</summary>
        private static bool IsOfCertificate(Exception error) {
            for (; error != null; error = error.InnerException) {
                var web = error as WebException;
                if (error is AuthenticationException || web != null && web.Status == WebExceptionStatus.TrustFailure) return true;
            }
            return false;
        }
    }
}
