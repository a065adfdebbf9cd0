// Calls what the matches of Chaos.cs do not: invitations, tokens, ahead, rematches, reviews, puzzles, entropy.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Croupier;
using Newtonsoft.Json.Linq;

internal static class Surface {
    private static Client _client;

    // Argument: the server.
    private static int Main(string[] arguments) {
        _client = new Client(arguments[0]);
        Run().GetAwaiter().GetResult();
        Console.WriteLine("surface: all hold");
        return 0;
    }

    private static async Task Run() {
        Demand((await _client.ListGamesAsync()).Count >= 4, "the games");
        var german = await _client.GetGameAsync("skystones", "de");
        Demand(Json.List(german["cards"]).Count > 0, "the cards");
        await Between();
        await Ahead();
        await Pause();
        await Over();
        await Entropy();
        await Puzzles();
        await Hints();
        await ManyStreams();
        await Refused("GAME_NOT_FOUND", _client.GetGameAsync("whist"));
        await Refused("MATCH_NOT_FOUND", _client.Resume("matches/nothere", "token").GetViewAsync(), "TOKEN_INVALID");
    }

    // A friend joins by the invitation; the token is replaced while it is followed; the other one is seen.
    private static async Task Between() {
        var hosted = await _client.CreateMatchAsync("skystones", Players.Open("host"), Players.Invited());
        var asked = await _client.GetInvitationAsync(hosted.Invitations[1]);
        Demand((string)asked["players"][0]["displayName"] == "host", "who invites: " + asked);
        var host = hosted.Seats[0];
        var seen = new TaskCompletionSource<bool>();
        var turn = new TaskCompletionSource<bool>();
        host.OtherSeatChanged += _ => { if (host.OtherSeat == "HERE") seen.TrySetResult(true); };
        var end = new CancellationTokenSource();
        var hosting = host.FollowAsync(cancel: end.Token);
        var id = Json.NewRequestId();
        var guest = (await _client.JoinAsync(hosted.Invitations[1], "guest", id)).Seats[1];
        Demand((await _client.JoinAsync(hosted.Invitations[1], "guest", id)).Seats[1].Token == guest.Token, "joined twice");
        await Refused("INVITATION_USED", _client.JoinAsync(hosted.Invitations[1]));
        guest.ViewChanged += change => turn.TrySetResult(true);
        var following = guest.FollowAsync(cancel: end.Token);
        await Task.WhenAll(seen.Task, turn.Task);
        var old = guest.Token;
        Demand(await guest.ReplaceTokenAsync() != old, "the same token");
        await Refused("TOKEN_REPLACED", _client.Resume(guest.Name, old).GetViewAsync());
        await host.ResignAsync();
        await Task.WhenAll(hosting, following); // The guest's stream goes on with its new token.
        Demand(guest.View["result"] != null, "the end");
        var told = new TaskCompletionSource<bool>();
        guest.RematchChanged += _ => told.TrySetResult(true);
        following = guest.FollowAsync(after: Json.Number(guest.View["version"]), followRematch: true);
        var again = await host.RematchAsync();
        await told.Task;
        await guest.DeclineRematchAsync();
        await following;
        await Refused("MATCH_OVER", guest.RematchAsync());
        Demand(again.Seats.Count == 1, "the rematch");
    }

    private static async Task Ahead() {
        var created = await _client.CreateMatchAsync("skystones", Players.Open(), Players.Open());
        var views = await Task.WhenAll(created.Seats.Values.Select(each => each.GetViewAsync()));
        var first = created.Seats[Json.List(views[0]["legalActions"]).Count > 0 ? 0 : 1];
        var actions = Json.List(first.View["legalActions"]);
        var view = await first.SubmitAsync(actions[0], then: new[] { actions[1] }, thenUnless: "THEN_UNLESS_ILLEGAL");
        Demand(Json.List(view["decisionsAhead"]?["actions"]).Count == 1, "what waits: " + view["decisionsAhead"]);
        view = await first.CancelAheadAsync();
        Demand(Json.List(view["decisionsAhead"]?["actions"]).Count == 0, "what was taken back: " + view["decisionsAhead"]);
        Demand((await first.AbortAsync())["result"] != null, "aborted");
    }

    // A turn is told once, whatever is offered, and again when a pause is over.
    private static async Task Pause() {
        var more = new JObject { ["timeControl"] = new JObject { ["perDecision"] = "600s" } };
        var created = await _client.CreateMatchAsync("skystones", Players.Open(), Players.Open(), more);
        var views = await Task.WhenAll(created.Seats.Values.Select(each => each.GetViewAsync()));
        var number = Json.List(views[0]["legalActions"]).Count > 0 ? 0 : 1;
        Match mine = created.Seats[number], theirs = created.Seats[1 - number];
        var asked = new List<ulong>();
        var view = views[number];
        var at = Json.Number(view["version"]);
        TaskCompletionSource<bool> paused = new TaskCompletionSource<bool>(), resumed = new TaskCompletionSource<bool>();
        mine.YourTurn += due => asked.Add(Json.Number(due["version"]));
        mine.ViewChanged += change => {
            if (change.Version == at + 2) paused.TrySetResult(true);
            if (change.Version == at + 3) resumed.TrySetResult(true);
        };
        var following = mine.FollowAsync();
        await Offer(theirs, "Make", new JObject { ["kind"] = "OFFER_KIND_PAUSE" });
        await Offer(mine, "Answer", new JObject { ["offerVersion"] = Json.Text(at + 1), ["agree"] = true });
        await paused.Task;
        try {
            await mine.SubmitAsync(Json.List(view["legalActions"])[0], view);
            Demand(false, "a decision in a pause");
        } catch (CroupierException error) {
            Demand(error.Reason == "MATCH_PAUSED" && Match.IsLate(error), "paused: " + error);
        }
        await _client.CallAsync("MatchService/ResumeMatch", new JObject { ["name"] = mine.Name }, theirs.Token);
        await resumed.Task;
        await theirs.ResignAsync();
        await following;
        Demand(asked.SequenceEqual(new[] { at, at + 3 }), "asked at " + string.Join(", ", asked));
    }

    private static Task Offer(Match match, string what, JObject request) {
        request["name"] = match.Name;
        return _client.CallAsync("MatchService/" + what + "Offer", request, match.Token);
    }

    // A match that is over: record, review, replay.
    private static async Task Over() {
        var match = (await _client.CreateMatchAsync("skystones", Players.Open(), Players.Bot("RANDOM"))).Seats[0];
        await match.PlayAsync(view => Task.FromResult(Json.List(view["legalActions"]).First));
        var record = await match.GetRecordAsync();
        var replayed = new List<ulong>();
        await match.ReplayAsync(step => replayed.Add(Json.Number(step["version"])));
        Demand(replayed.Last() == Json.Number(Json.List(record["entries"]).Last["version"]), "the replay");
        var summaries = 0;
        await match.ReviewAsync(report => summaries += report["summary"] == null ? 0 : 1, 100, 100);
        Demand(summaries == 1, "the summary of the review");
        await Refused("MATCH_OVER", match.SubmitAsync(Json.List(record["entries"])[0]["action"]?["action"] ?? new JObject()), "INVALID_FIELD");
    }

    private static async Task Entropy() {
        var created = await _client.CreateMatchAsync(
            "skystones", Players.Open(), Players.Open(), new JObject { ["entropyFromSeats"] = true });
        await Task.WhenAll(created.Seats.Values.Select(each => each.ContributeAsync()));
        var view = await created.Seats[0].GetViewAsync();
        Demand(view["entropyOwed"] == null && Json.List(view["deciders"]).Count > 0, "dealt by all: " + view["entropyOwed"]);
    }

    private static async Task Puzzles() {
        var page = await _client.ListPuzzlesAsync("skystones");
        var puzzle = await _client.GetPuzzleAsync((string)page["puzzles"][0]["name"]);
        var solved = await _client.SolvePuzzleAsync((string)puzzle["name"], puzzle["view"]["legalActions"][0]);
        Demand(solved["hint"] != null, "the answer");
        var hint = await _client.AnalyzeAsync((JObject)puzzle["view"], new SearchLimits { Iterations = 200 });
        Demand(hint["action"] != null, "a hint for a view");
    }

    private static async Task Hints() {
        var match = (await _client.CreateMatchAsync("skystones", Players.Open(), Players.Bot("RANDOM"))).Seats[0];
        var turn = new TaskCompletionSource<bool>();
        match.YourTurn += _ => turn.TrySetResult(true);
        var end = new CancellationTokenSource();
        var following = match.FollowAsync(cancel: end.Token);
        await turn.Task;
        var grown = new List<ulong>();
        var enough = new CancellationTokenSource();
        try {
            await match.AnalyzeAsync(new SearchLimits { Time = TimeSpan.FromSeconds(60), BeliefWorlds = 100 }, hint => {
                grown.Add(Json.Number(hint["iterations"]));
                if (grown.Count == 4) enough.Cancel();
            }, enough.Token);
            Demand(false, "a cancelled search returned");
        } catch (OperationCanceledException) {
        }
        Demand(grown.Count == 4 && grown[3] > grown[0], "a hint that grows: " + string.Join(", ", grown));
        end.Cancel();
        try {
            await following;
            Demand(false, "a cancelled stream returned");
        } catch (OperationCanceledException) {
        }
    }

    // The framework opens two connections to a host, unless it is told otherwise.
    private static async Task ManyStreams() {
        var created = await _client.CreateMatchAsync("skystones", Players.Open(), Players.Open());
        var matches = Enumerable.Range(0, 8).Select(each => _client.Resume(created.Name, created.Seats[each % 2].Token)).ToList();
        var open = new List<Task>();
        var following = new List<Task>();
        foreach (var each in matches) {
            var told = new TaskCompletionSource<bool>();
            each.ViewChanged += _ => told.TrySetResult(true);
            open.Add(told.Task);
            following.Add(each.FollowAsync());
        }
        await Task.WhenAll(open);
        await created.Seats[0].ResignAsync();
        await Task.WhenAll(following);
    }

    private static async Task Refused(string reason, Task call, string or = null) {
        try {
            await call;
        } catch (CroupierException error) {
            Demand(error.Reason == reason || error.Reason == or, reason + " instead of " + error);
            return;
        }
        Demand(false, "not refused: " + reason);
    }

    private static void Demand(bool holds, string what) {
        if (!holds) throw new InvalidOperationException(what);
    }
}
