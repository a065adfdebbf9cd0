// How requests reach a server: what differs between a console, the Unity editor and a browser.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Croupier {
    /// <summary>Takes a piece of the body of a response, as soon as it has come; says whether more is wanted.</summary>
    public delegate bool Received(byte[] bytes, int count);

    /// <summary>How a request over HTTP has ended.</summary>
    public sealed class HttpReply {
        /// <summary>The HTTP status.</summary>
        public readonly int Status;

        /// <summary>The header "retry-after" in seconds; null if there is none.</summary>
        public readonly double? RetryAfter;

        public HttpReply(int status, string retryAfter) {
            Status = status;
            if (double.TryParse(retryAfter, System.Globalization.NumberStyles.Integer,
                System.Globalization.CultureInfo.InvariantCulture, out var seconds)) RetryAfter = seconds;
        }
    }

    /// <summary>Sends requests, and waits.</summary>
    /// <remarks>
    /// A player in a browser has one thread and no timers of .NET. So the client never leaves the
    /// context that it was called in, starts no threads, and waits by this interface alone. A
    /// transport follows no redirect: the token in the headers is for this server.
    /// </remarks>
    public interface ITransport {
        /// <summary>Posts a body, and hands on each piece of the response; returns when all of it has come.</summary>
        /// <exception cref="CroupierException">The connection was lost, there was none, or no more was wanted.</exception>
        /// <exception cref="OperationCanceledException">`cancel` has ended it.</exception>
        Task<HttpReply> PostAsync(
            string url, IDictionary<string, string> headers, byte[] body, Received received,
            CancellationToken cancel);

        /// <summary>Returns after some time.</summary>
        Task DelayAsync(TimeSpan time, CancellationToken cancel);
    }
}
