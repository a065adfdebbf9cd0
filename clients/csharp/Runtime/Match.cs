// A match, seen and played by the holder of one of its tokens.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>A version of a match: what happened, and how it stands.</summary>
    public sealed class Change {
        /// <summary>The version. Each one comes once, in order.</summary>
        public ulong Version;

        /// <summary>What happened, as far as the seat may see it, in order.</summary>
        public JArray Events;

        /// <summary>The newest view that the server has sent; null before the first one.</summary>
        /// <remarks>It may be newer than this version, as an answer to a call overtakes the stream.</remarks>
        public JObject View;

        /// <summary>Whether the version is an action of this seat.</summary>
        public bool OwnAction;
    }

    /// <summary>A match, with a token to play a seat or to watch it.</summary>
    /// <remarks>Events are raised where FollowAsync was called: in Unity, on the main thread.</remarks>
    public sealed class Match {
        private const double SilentIntervals = 2.5; // One sign of life may come late.
        private static readonly string[] Beside = { "seatTokenReplaced", "offerMade", "offerAnswered" }; // The game does not go on by these.
        private readonly Client _client;
        private readonly object _lock = new object(), _turn = new object();
        private Task _replacing = Task.FromResult(true);
        private bool _connected = true;
        private bool _over;
        private bool _asked; // Whether YourTurn was raised for the decision that is owed,
        private ulong _takebacks; // and how often one was taken back before.

        /// <summary>The name, "matches/{match}".</summary>
        public readonly string Name;

        /// <summary>The secret by which its holder plays the seat. Keep it to resume the match.</summary>
        public string Token { get; private set; }

        /// <summary>The newest view that the server has sent; null before the first one.</summary>
        public JObject View { get; private set; }

        /// <summary>Whether the other player of a match between people is there: "HERE", "AWAY", or "" where nothing is told.</summary>
        public string OtherSeat { get; private set; }

        /// <summary>How often the server proves that the stream lives: 1 s to 60 s.</summary>
        public TimeSpan Heartbeat = TimeSpan.FromSeconds(10);

        /// <summary>Does not tell the other player that this one is there, nor the other way round.</summary>
        public bool HidePresence;

        /// <summary>A version has come. Views never go back behind an answer.</summary>
        public event Action<Change> ViewChanged;

        /// <summary>The seat owes a decision: one of the view's `legalActions`. Raised once for each, and again after a pause.</summary>
        public event Action<JObject> YourTurn;

        /// <summary>The match is over; the view has the `result`.</summary>
        public event Action<JObject> Ended;

        /// <summary>The stream was lost (false), or is there again (true).</summary>
        public event Action<bool> ConnectionChanged;

        /// <summary>The other player has come or gone; see OtherSeat.</summary>
        public event Action<string> OtherSeatChanged;

        /// <summary>What has become of the rematch, if FollowAsync follows it.</summary>
        public event Action<JObject> RematchChanged;

        internal Match(Client client, string name, string token) {
            _client = client;
            Name = name;
            Token = token;
            OtherSeat = "";
        }

        /// <summary>Raises the events of this object until the match is over.</summary>
        /// <param name="after">The last version that is known; by default every version is told from the first one.</param>
        /// <param name="etag">The `etag` of that version's view, so that the stream goes on from no other of its number.</param>
        /// <param name="followRematch">Whether to go on after the end, until a rematch has begun or was declined.</param>
        /// <exception cref="CroupierException">The server was lost for as long as the patience lasts.</exception>
        public async Task FollowAsync(
            ulong? after = null, string etag = "", bool followRematch = false, CancellationToken cancel = default(CancellationToken)) {
            var token = Token;
            var told = false; // Whether a stream of this call has brought a version.
            Func<JObject> request = () => new JObject {
                ["name"] = Name, ["afterVersion"] = after == null ? null : Json.Text(after.Value), ["etag"] = etag,
                ["heartbeatInterval"] = Json.Text(Heartbeat), ["followRematch"] = followRematch, ["hidePresence"] = HidePresence
            };
            Action<JObject> tell = response => {
                var version = Json.Number(response["version"]);
                var old = after != null && version <= after; // As a heartbeat, or what no server of ours says.
                if (!old) after = version;
                etag = old || Json.Text(response["etag"]) == "" ? etag : Json.Text(response["etag"]);
                told = true;
                Connect(true);
                Tell(response, old);
            };
            Func<CroupierException, Task<CroupierException>> left = async lost => {
                Connect(false);
                if (lost.Reason == "TOKEN_REPLACED") return await IsReplacedAsync(token) ? null : lost;
                var current = lost.CurrentVersion;
                if (lost.Reason != "VERSION_IN_FUTURE" || current == null || !told && etag == "") return lost;
                // The log has lost versions that were told: go on from where the match is now.
                after = current > 0 ? current - 1 : null;
                _asked = told = false;
                etag = "";
                lock (_lock) View = null;
                return null;
            };
            var silence = TimeSpan.FromSeconds(SilentIntervals * Heartbeat.TotalSeconds);
            // To connect may take longer.
            await _client.StreamAsync("MatchService/WatchMatch", request, () => token = Token, tell, _client.Timeout, silence, left, cancel);
        }

        /// <summary>Plays the match to its end: decides whenever the seat owes a decision.</summary>
        /// <remarks>
        /// `decide` gets the view and returns one of its legal actions, or null if it has submitted one by
        /// itself. A decision that comes too late, as the clock or another client has decided, is left out.
        /// </remarks>
        public async Task PlayAsync(Func<JObject, Task<JToken>> decide, CancellationToken cancel = default(CancellationToken)) {
            JObject due = null, decided = null;
            var news = new TaskCompletionSource<bool>();
            Action<JObject> turn = view => {
                TaskCompletionSource<bool> told;
                lock (_turn) {
                    due = view;
                    told = news;
                }
                told.TrySetResult(true);
            };
            YourTurn += turn;
            using (var end = CancellationTokenSource.CreateLinkedTokenSource(cancel)) {
                var following = FollowAsync(cancel: end.Token);
                try {
                    while (await Task.WhenAny(following, news.Task) != following) {
                        lock (_turn) {
                            news = new TaskCompletionSource<bool>();
                            if (due == decided) continue;
                            decided = due;
                        }
                        // A decision stays the same while the other seat decides in secret, or offers something.
                        var view = IsOld(decided) ? View : decided;
                        if (!Owes(view)) continue;
                        try {
                            var action = await decide(view);
                            if (action != null) await SubmitAsync(action, view, cancel: cancel);
                        } catch (CroupierException error) when (IsLate(error)) {
                            // The stream shows the newer view.
                        }
                    }
                    await following;
                } finally {
                    YourTurn -= turn;
                    end.Cancel();
                    Connection.Forget(following);
                }
            }
        }

        /// <summary>Whether a decision, or a hint for one, came too late: the match has gone on, or is paused.</summary>
        public static bool IsLate(CroupierException error) =>
            Array.IndexOf(new[] { "STALE_VERSION", "NOT_TO_DECIDE", "MATCH_OVER", "MATCH_PAUSED" }, error.Reason) >= 0;

        /// <summary>Returns what the holder of the token knows now.</summary>
        public Task<JObject> GetViewAsync(CancellationToken cancel = default(CancellationToken)) =>
            ViewAsync("GetView", Named(), cancel);

        /// <summary>Plays one of the legal actions of a view, by default the newest; returns the view after it.</summary>
        /// <remarks>
        /// It is applied once, however often the call is repeated. The server makes the decisions in
        /// `then` when the seat owes them, unless the seat is shown something first; with
        /// `thenUnless` "THEN_UNLESS_ILLEGAL" whatever happens. Each action takes their place.
        /// </remarks>
        /// <exception cref="CroupierException">See IsLate. If the patience is at its end, the next view shows whether it has counted.</exception>
        public Task<JObject> SubmitAsync(
            JToken action, JObject view = null, IEnumerable<JToken> then = null, string thenUnless = null,
            CancellationToken cancel = default(CancellationToken)) {
            view = view ?? View;
            if (view == null) throw new InvalidOperationException("there is no view yet: follow the match, or get its view");
            var request = new JObject {
                ["name"] = Name, ["expectedVersion"] = Json.Text(Json.Number(view["version"])), ["etag"] = Json.Text(view["etag"]),
                ["action"] = action, ["requestId"] = Json.NewRequestId(),
                ["thenActions"] = then == null ? null : new JArray(then.ToArray()), ["thenUnless"] = thenUnless
            };
            return ViewAsync("SubmitAction", request, cancel);
        }

        /// <summary>Takes back the decisions ahead that were not made; returns the view after it.</summary>
        public Task<JObject> CancelAheadAsync(CancellationToken cancel = default(CancellationToken)) =>
            ViewAsync("CancelDecisionsAhead", Named(), cancel);

        /// <summary>Resigns the match; returns the view at its end.</summary>
        public Task<JObject> ResignAsync(CancellationToken cancel = default(CancellationToken)) =>
            ViewAsync("ResignMatch", Named(), cancel);

        /// <summary>Ends the match without a result, before both have decided; returns the view at its end.</summary>
        public Task<JObject> AbortAsync(CancellationToken cancel = default(CancellationToken)) =>
            ViewAsync("AbortMatch", Named(), cancel);

        /// <summary>Returns a hint for what the seat knows now.</summary>
        public async Task<JObject> SuggestAsync(SearchLimits limits, CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject { ["search"] = limits.Search("matchName", Name) };
            return Json.Part(await CallAsync("HintService/SuggestAction", request, cancel), "hint");
        }

        /// <summary>Searches from what the seat knows now, and shows each hint as it grows; returns the final one.</summary>
        public Task<JObject> AnalyzeAsync(
            SearchLimits limits, Action<JObject> report, CancellationToken cancel = default(CancellationToken)) =>
            _client.AnalyzeAsync(limits.Search("matchName", Name), Token, report, cancel);

        /// <summary>Returns the record of the match, which must be over.</summary>
        public async Task<JObject> GetRecordAsync(CancellationToken cancel = default(CancellationToken)) =>
            Json.Part(await CallAsync("MatchService/GetRecord", Named(), cancel), "record");

        /// <summary>Judges the decisions of the match, which must be over; hands on each report once.</summary>
        public Task ReviewAsync(
            Action<JObject> report, int iterations = 0, int deepIterations = 0, CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject { ["matchName"] = Name, ["iterations"] = iterations, ["deepIterations"] = deepIterations };
            var told = new HashSet<string>(); // Another server begins anew, with the same reports.
            return _client.StreamAsync("ReviewService/ReviewMatch", () => request, Token, response => {
                var found = response["decision"] ?? response["summary"]; // Beside them is how far it is.
                if (found == null || told.Add(found.ToString(Newtonsoft.Json.Formatting.None))) report(response);
            }, cancel);
        }

        /// <summary>Shows the match, which must be over, as both seats saw it at each version.</summary>
        public Task ReplayAsync(Action<JObject> version, CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject { ["matchName"] = Name };
            return _client.StreamAsync("ReviewService/ReplayMatch", () => request, Token, response => {
                request["afterVersion"] = Json.Text(Json.Number(response["version"]));
                version(response);
            }, cancel);
        }

        /// <summary>Offers or accepts a rematch; returns the caller's new seat.</summary>
        public async Task<NewMatch> RematchAsync(CancellationToken cancel = default(CancellationToken)) =>
            new NewMatch(_client, await CallAsync("MatchService/Rematch", Named(), cancel));

        /// <summary>Declines the rematch that the other seat has offered, or takes back one's own offer.</summary>
        public async Task DeclineRematchAsync(CancellationToken cancel = default(CancellationToken)) {
            await CallAsync("MatchService/DeclineRematch", Named(), cancel);
        }

        /// <summary>Replaces the token by a new one, for whoever else may know the old one; returns it.</summary>
        public async Task<string> ReplaceTokenAsync(CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject { ["name"] = Name, ["requestId"] = Json.NewRequestId() };
            var replacing = CallAsync("MatchService/ReplaceSeatToken", request, cancel);
            _replacing = replacing;
            return Token = Json.Part(Json.Part(await replacing, "seatToken")["token"], "token");
        }

        /// <summary>Contributes to the chance of a match that was created with `entropyFromSeats`; each open seat has to.</summary>
        public async Task ContributeAsync(CancellationToken cancel = default(CancellationToken)) {
            var entropy = Json.RandomBytes(32);
            var request = Named();
            using (var sha = SHA256.Create()) request["entropyHash"] = Convert.ToBase64String(sha.ComputeHash(entropy));
            var view = await ViewAsync("ContributeEntropy", request, cancel);
            while (Json.List(Json.Message(view["entropyOwed"])["hashSeats"]).Count > 0) {
                request = new JObject { ["name"] = Name, ["waitForVersion"] = Json.Text(Json.Number(view["version"]) + 1) };
                view = await ViewAsync("GetView", request, cancel);
            }
            request = new JObject { ["name"] = Name, ["entropy"] = Convert.ToBase64String(entropy) };
            await ViewAsync("ContributeEntropy", request, cancel);
        }

        private JObject Named() => new JObject { ["name"] = Name };

        private Task<JObject> CallAsync(string method, JObject request, CancellationToken cancel) =>
            _client.CallAsync(method, request, Token, cancel);

        private async Task<JObject> ViewAsync(string method, JObject request, CancellationToken cancel) {
            var view = Json.Part(await CallAsync("MatchService/" + method, request, cancel), "view");
            See(view);
            return view;
        }

        /// <summary>Takes note of a view; whether it is the newest.</summary>
        private bool See(JObject view) {
            lock (_lock) {
                if (IsOld(view)) return false;
                View = view;
                return true;
            }
        }

        private bool IsOld(JObject view) => View != null && Json.Number(view["version"]) < Json.Number(View["version"]);

        private async Task<bool> IsReplacedAsync(string token) {
            // The stream may end before the answer to the call that has replaced the token arrives.
            try {
                await _replacing;
            } catch (CroupierException) {
                return false;
            }
            return token != Token;
        }

        private void Connect(bool connected) {
            if (connected == _connected) return;
            _connected = connected;
            ConnectionChanged?.Invoke(connected);
        }

        private void Tell(JObject response, bool old) {
            var view = response["view"] as JObject;
            var newest = view != null && See(view);
            if (response["rematch"] is JObject rematch) {
                RematchChanged?.Invoke(rematch);
                return;
            }
            var upToDate = Json.Holds(response["upToDate"]);
            var presence = upToDate ? Json.Text(response["otherSeat"]).Replace("SEAT_PRESENCE_", "") : OtherSeat;
            var come = presence != OtherSeat;
            OtherSeat = presence;
            if (come) OtherSeatChanged?.Invoke(presence);
            if (upToDate ? view == null : old) return; // A sign of life.
            var events = Json.List(response["events"]);
            if (Json.Messages(events).Any(each => GoesOn(each, View))) _asked = false;
            ViewChanged?.Invoke(new Change {
                Version = Json.Number(response["version"]), Events = events, View = View, OwnAction = Json.Holds(response["ownAction"]),
            });
            if (newest) Ask(view);
        }

        private void Ask(JObject view) {
            var takebacks = Json.Number(view["takebackCount"]);
            if (view["result"] is JObject) {
                if (!_over) Ended?.Invoke(view);
                _over = true;
            } else if (Owes(view) && !(_asked && takebacks == _takebacks)) {
                _asked = true;
                _takebacks = takebacks;
                YourTurn?.Invoke(view);
            }
        }

        private static bool Owes(JObject view) {
            var ahead = Json.Message(view["decisionsAhead"]); // With such ones, the server makes the next decision.
            return Json.List(view["legalActions"]).Count > 0 && (Json.List(ahead["actions"]).Count == 0 || ahead["endReason"] != null);
        }

        /// <summary>Whether a seat that owes a decision may owe another one after an event.</summary>
        private static bool GoesOn(JObject happened, JObject view) {
            if (happened["seatDecided"] is JObject secret) return Json.Number(secret["seat"]) == Json.Number(view?["seat"]);
            return !Beside.Any(each => happened[each] != null);
        }
    }
}
