// Plays matches while the server dies and lines are cut, and checks what the client has told of them.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Croupier;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

internal static class Chaos {
    // Arguments: server, game, how many matches at least, how many at a time, a seed, a file that lets
    // it end, and "http" or "unity".
    private static int Main(string[] arguments) {
        var failed = 0;
        Func<Task> play = async () => failed = await PlayAllAsync(arguments);
        if (arguments[6] == "unity") UnityEngine.Frames.Run(play);
        else play().GetAwaiter().GetResult();
        return failed == 0 ? 0 : 1;
    }

    private static async Task<int> PlayAllAsync(string[] arguments) {
        var client = new Client(arguments[0], arguments[6] == "unity" ? new UnityTransport() : null);
        client.Patience = TimeSpan.FromMinutes(5); // On a busy machine, a server is away for long.
        client.Timeout = TimeSpan.FromSeconds(5); // Lines die in silence.
        var failed = 0;
        var begun = 0;
        Func<Task> lane = async () => {
            while (begun < int.Parse(arguments[2]) || !File.Exists(arguments[5])) {
                var number = Interlocked.Increment(ref begun);
                var player = new CheckedMatch(client, arguments[1], number, int.Parse(arguments[4]) + number);
                try {
                    Console.WriteLine((await player.PlayAsync()).ToString(Formatting.None));
                } catch (Exception error) {
                    failed++;
                    Console.WriteLine("FAILED: match " + number + " " + player.Name + " " + error);
                }
                Console.Out.Flush();
            }
        };
        var lanes = Enumerable.Range(0, int.Parse(arguments[3])).Select(_ => lane()).ToList();
        await Task.WhenAll(lanes);
        return failed;
    }
}

internal sealed class CheckedMatch {
    private static readonly string[] Modes = { "hints", "bot", "seats", "clock", "ahead" };
    private readonly Client _client;
    private readonly string _game, _mode;
    private readonly Random _chance;
    private readonly List<JToken>[] _answered = { new List<JToken>(), new List<JToken>() };
    private readonly ulong[] _newest = new ulong[2];
    private readonly CancellationTokenSource _end = new CancellationTokenSource();
    private int _late, _lost, _back, _reports;
    public string Name = "";

    public CheckedMatch(Client client, string game, int number, int seed) {
        _client = client;
        _game = game;
        _mode = Modes[number % Modes.Length];
        _chance = new Random(seed);
    }

    public async Task<JObject> PlayAsync() {
        var more = new JObject { ["hintPolicy"] = "HINT_POLICY_ALLOWED" };
        if (_mode == "clock") more["timeControl"] = new JObject {
            ["perDecision"] = "1s", ["onExpiry"] = "EXPIRY_POLICY_DEFAULT_ACTION", ["maxDefaultActions"] = 20
        };
        var other = _mode == "seats" ? Players.Open("b") : Players.Bot("RANDOM");
        var created = await _client.CreateMatchAsync(_game, Players.Open("a"), other, more);
        Name = created.Name;
        await Task.WhenAll(created.Seats.Select(each => PlaySeatAsync(each.Value, each.Key)));
        return new JObject {
            ["game"] = _game, ["mode"] = _mode, ["versions"] = _newest.Max(), ["decisions"] = _answered.Sum(each => each.Count),
            ["late"] = _late, ["lost"] = _lost, ["reports"] = _reports
        };
    }

    private async Task PlaySeatAsync(Match match, int seat) {
        match.Heartbeat = TimeSpan.FromSeconds(2);
        var told = new List<ulong>();
        var ended = 0;
        var main = Thread.CurrentThread.ManagedThreadId;
        var unity = SynchronizationContext.Current != null;
        match.ViewChanged += change => {
            told.Add(change.Version);
            Demand(!unity || Thread.CurrentThread.ManagedThreadId == main, "told on another thread");
            if (change.View == null) return; // The first view is yet to come.
            Check(change.View, seat, "told");
            Check(match.View, seat, "held");
        };
        match.Ended += view => {
            ended++;
            Check(view, seat, "at the end");
        };
        match.ConnectionChanged += there => {
            if (there) _back++;
            else _lost++;
        };
        try {
            await match.PlayAsync(view => DecideAsync(match, view, seat), _end.Token);
        } catch {
            _end.Cancel(); // Else the other seat waits for ever.
            throw;
        }
        Demand(ended == 1, "told " + ended + " times of the end");
        Demand(Json.Number(match.View["version"]) == told.Last(), "ended at another version");

        // Nothing lost, nothing twice: each version once, in order, up to the last of the record.
        var record = await match.GetRecordAsync();
        var entries = Json.List(record["entries"]);
        var last = Json.Number(entries.Last["version"]);
        Demand(told.Last() == last, "the record ends at " + last + ", the stream at " + told.Last());
        for (var i = 1; i < told.Count; i++) Demand(told[i] == told[i - 1] + 1, told[i - 1] + " is followed by " + told[i]);
        Demand(told[0] <= 1, "begins with " + told[0]);
        var played = entries.Where(each => each["action"] != null && ((int?)each["action"]["seat"] ?? 0) == seat)
            .Select(each => Text(each["action"]["action"])).ToList();
        var answered = _answered[seat].Select(Text).ToList();
        if (_mode == "ahead") {
            var at = 0;
            foreach (var each in played) if (at < answered.Count && each == answered[at]) at++;
            Demand(at == answered.Count, "answered actions are missing in the record");
        } else {
            Demand(played.SequenceEqual(answered), played.Count + " actions in the record, " + answered.Count + " were answered");
        }
    }

    private async Task<JToken> DecideAsync(Match match, JObject view, int seat) {
        Check(view, seat, "to decide on");
        var actions = Json.List(view["legalActions"]);
        if (_mode == "hints" && _chance.Next(4) == 0) {
            try {
                var limits = new SearchLimits { Iterations = 100 };
                var hint = _chance.Next(2) == 0
                    ? await match.SuggestAsync(limits)
                    : await match.AnalyzeAsync(limits, growing => _reports++);
                return await SubmitAsync(match, view, hint["action"], seat);
            } catch (CroupierException error) when (Match.IsLate(error)) {
                _late++;
                throw;
            }
        }
        if (_mode == "clock" && _chance.Next(6) == 0) await Task.Delay(1500);
        return await SubmitAsync(match, view, actions[_chance.Next(actions.Count)], seat);
    }

    // Submits by itself, to see the answer.
    private async Task<JToken> SubmitAsync(Match match, JObject view, JToken action, int seat) {
        var then = _mode == "ahead" && _chance.Next(2) == 0 ? Json.List(view["legalActions"]).Take(2) : null;
        try {
            var after = await match.SubmitAsync(action, view, then);
            _answered[seat].Add(action);
            Demand(Json.Number(after["version"]) > Json.Number(view["version"]), "an answer from before the action");
            _newest[seat] = Math.Max(_newest[seat], Json.Number(after["version"]));
        } catch (CroupierException error) when (Match.IsLate(error)) {
            _late++;
            throw;
        }
        return null;
    }

    private void Check(JObject view, int seat, string what) {
        var version = Json.Number(view["version"]);
        Demand(version >= _newest[seat], what + ": version " + version + " after the answer " + _newest[seat]);
    }

    private static string Text(JToken action) {
        return action.ToString(Formatting.None);
    }

    private static void Demand(bool holds, string what) {
        if (!holds) throw new InvalidOperationException(what);
    }
}
