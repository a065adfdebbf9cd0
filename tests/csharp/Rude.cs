// Calls a server that is rude (tests/support/rude.py), and prints what came of each of its answers.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading.Tasks;
using Croupier;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

internal static class Rude {
    private const int AtOnce = 16;
    private static bool _unity;

    // Arguments: the file with the table, and "http" or "unity".
    private static int Main(string[] arguments) {
        var table = JObject.Parse(File.ReadAllText(arguments[0]));
        _unity = arguments[1] == "unity";
        Func<Task> call = () => CallAllAsync(table);
        if (_unity) UnityEngine.Frames.Run(call);
        else call().GetAwaiter().GetResult();
        return 0;
    }

    private static async Task CallAllAsync(JObject table) {
        var rows = new Queue<JToken>(table["rows"]);
        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(_ => LaneAsync(rows)));
        var here = (string)table["here"];
        var mutants = new Queue<int>(Enumerable.Range(0, (int)table["mutants"]));
        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(_ => MutantsAsync(mutants, here + "mutant-")));
        var other = Of(here + "flowing", 600, 600);
        while ((int)(await other.CallAsync("S/M", new JObject()))["flowing"] > 0) await Task.Yield();
        Console.WriteLine("done");
    }

    private static Client Of(string url, double seconds, double patience) {
        return new Client(url, _unity ? (ITransport)new UnityTransport() : null) {
            Patience = TimeSpan.FromSeconds(patience), Timeout = TimeSpan.FromSeconds(seconds)
        };
    }

    private static async Task LaneAsync(Queue<JToken> rows) {
        while (rows.Count > 0) {
            var row = rows.Dequeue();
            int told = 0, retried = 0;
            var turns = new JArray();
            var error = await OutcomeAsync(() => CallAsync(row, () => told++, () => retried++, turns));
            Console.WriteLine(new JObject {
                ["name"] = row["name"], ["code"] = error?.Code ?? "ok", ["reason"] = error?.Reason, ["message"] = error?.Message,
                ["mayPass"] = error?.MayPass, ["told"] = told, ["retried"] = retried, ["turns"] = turns
            }.ToString(Formatting.None));
        }
    }

    private static async Task CallAsync(JToken row, Action told, Action retried, JArray turns) {
        string call = (string)row["call"], url = (string)row["url"];
        // Besides, a call has 2 s for the answer at its deadline, and a stream 60 s for a search.
        var client = Of(url, (double)row["seconds"] - (call == "unary" ? 2 : call == "stream" ? 60 : 0), (double)row["patience"]);
        client.Retrying += _ => retried();
        if (call == "unary") await client.CallAsync("S/M", new JObject(), "secret");
        else if (call == "stream") await client.StreamAsync("S/M", () => new JObject(), "secret", _ => told());
        else {
            var match = client.Resume("matches/a", "secret");
            ulong newest = 0;
            match.YourTurn += view => turns.Add(Json.Number(view["version"]));
            match.ViewChanged += change => {
                if (change.View == null) return;
                if (Json.Number(change.View["version"]) < newest) throw new InvalidOperationException("an older view");
                newest = Json.Number(change.View["version"]);
            };
            await match.FollowAsync();
        }
    }

    private static async Task MutantsAsync(Queue<int> mutants, string url) {
        while (mutants.Count > 0) {
            var number = mutants.Dequeue();
            var client = Of(url + number, 600, 0);
            var match = client.Resume("matches/a", "t");
            Func<Task>[] calls = {
                () => client.CreateMatchAsync("a", Players.Open(), Players.Open()), () => client.JoinAsync("i"), () => client.ListGamesAsync(), () => client.GetGameAsync("a"),
                () => client.ListPuzzlesAsync("a"), () => client.GetPuzzleAsync("a"), () => client.SolvePuzzleAsync("a", new JObject()),
                () => client.AnalyzeAsync(new JObject(), new SearchLimits()), () => match.GetViewAsync(), () => match.FollowAsync(),
                () => match.SubmitAsync(new JObject(), new JObject()), () => match.ResignAsync(), () => match.CancelAheadAsync(),
                () => match.SuggestAsync(new SearchLimits()), () => match.GetRecordAsync(), () => match.ReviewAsync(_ => { }),
                () => match.ReplayAsync(_ => { }), () => match.RematchAsync(), () => match.ReplaceTokenAsync(),
                () => match.ContributeAsync(),
            };
            for (var at = 0; at < calls.Length; at++) {
                var error = await OutcomeAsync(calls[at]);
                if (error?.Code == "FAULT") Console.WriteLine("FAULT mutant " + number + ", call " + at + ": " + error.Message);
            }
        }
    }

    // Whatever is no exception of ours is a fault.
    private static async Task<CroupierException> OutcomeAsync(Func<Task> call) {
        try {
            await call();
            return null;
        } catch (CroupierException error) {
            return error;
        } catch (Exception other) {
            return new CroupierException("FAULT", other.ToString());
        }
    }
}
