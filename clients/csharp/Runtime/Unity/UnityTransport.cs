// Requests over UnityWebRequest: in any Unity player, and the only way in a browser.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;
using UnityEngine.Networking;

namespace Croupier {
    /// <summary>Sends requests by UnityWebRequest. Use and cancel it on Unity's main thread.</summary>
    public sealed class UnityTransport : ITransport {
        public async Task DelayAsync(TimeSpan time, CancellationToken cancel) {
            // Timers of .NET need a thread, which a browser does not give.
            for (var until = Time.realtimeSinceStartupAsDouble + time.TotalSeconds; Time.realtimeSinceStartupAsDouble < until;) {
                cancel.ThrowIfCancellationRequested();
                await Task.Yield(); // Until the next frame.
            }
            cancel.ThrowIfCancellationRequested();
        }

        public async Task<HttpReply> PostAsync(
            string url, IDictionary<string, string> headers, byte[] body, Received received,
            CancellationToken cancel) {
            cancel.ThrowIfCancellationRequested();
            using (var request = new UnityWebRequest(url, "POST", new Pieces(received), new UploadHandlerRaw(body))) {
                request.useHttpContinue = false;
                request.redirectLimit = 0; // A browser follows redirects by itself, and takes the token to no other origin.
                foreach (var header in headers) request.SetRequestHeader(header.Key, header.Value);
                var done = new TaskCompletionSource<bool>();
                using (cancel.Register(request.Abort)) {
                    request.SendWebRequest().completed += _ => done.TrySetResult(true);
                    await done.Task;
                }
                cancel.ThrowIfCancellationRequested();
                // A status such as 404 or 302 is an answer; a certificate that is not trusted stays so.
                if (request.result != UnityWebRequest.Result.Success && request.result != UnityWebRequest.Result.ProtocolError
                    && request.responseCode / 100 != 3) {
                    var lasting = request.error.IndexOf("cert", StringComparison.OrdinalIgnoreCase) >= 0;
                    throw new CroupierException(lasting ? "failed_precondition" : "unavailable", request.error);
                }
                return new HttpReply((int)request.responseCode, request.GetResponseHeader("retry-after"));
            }
        }

        /// <summary>Hands on what has come, in each frame.</summary>
        private sealed class Pieces : DownloadHandlerScript {
            private readonly Received _received;

            public Pieces(Received received) => _received = received;

            protected override bool ReceiveData(byte[] data, int dataLength) => _received(data, dataLength);
        }
    }
}
