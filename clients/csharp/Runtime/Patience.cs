// Which failed calls are repeated, and when.
using System;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Croupier {
    /// <summary>Says how long to wait between attempts.</summary>
    internal sealed class Patience {
        private const double FirstPause = 0.1, MaxPause = 2, MaxDelay = 1e6; // Seconds.
        private const double Jitter = 0.2; // So that the clients of a lost server come back apart.
        private static readonly Random Chance = new Random();
        private readonly Connection _connection;
        private double _pause;
        private Stopwatch _lost;

        public Patience(Connection connection) {
            _connection = connection;
            Reset();
        }

        /// <summary>Starts the time over, because the server has answered.</summary>
        public void Reset() {
            _pause = FirstPause;
            _lost = null;
        }

        /// <summary>Returns when it is time for the next attempt; throws the error if there should be none.</summary>
        public async Task WaitAsync(CroupierException error, CancellationToken cancel) {
            _lost = _lost ?? Stopwatch.StartNew();
            double share;
            lock (Chance) share = 1 - Jitter + 2 * Jitter * Chance.NextDouble();
            // Timers count some weeks at most.
            var pause = error.RetryAfter > 0 ? Math.Min(error.RetryAfter.Value, MaxDelay) : _pause * share;
            var late = _lost.Elapsed.TotalSeconds + pause > _connection.Patience.TotalSeconds;
            if (late || !error.MayPass) throw error;
            _pause = Math.Min(2 * _pause, MaxPause);
            await _connection.Transport.DelayAsync(TimeSpan.FromSeconds(pause), cancel);
            _connection.Tell(error);
        }
    }
}
