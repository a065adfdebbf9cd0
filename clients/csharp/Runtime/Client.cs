// What a client does that holds no seat: the catalog, new matches, invitations, puzzles.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>How long to search for a hint: the first limit that is reached; none: a second.</summary>
    public sealed class SearchLimits {
        public int Iterations;
        public TimeSpan? Time;
        public int Threads;

        /// <summary>Makes the hint reproducible, with one thread and no limit in time.</summary>
        public ulong? Seed;

        /// <summary>The number of worlds to draw to estimate the hidden cards; 0: no estimate.</summary>
        public int BeliefWorlds;

        internal JObject Search(string position, JToken value) {
            var search = new JObject { [position] = value };
            var limits = new JObject();
            if (Iterations > 0) limits["iterations"] = Iterations;
            if (Threads > 0) limits["threads"] = Threads;
            if (Time != null || Iterations == 0) limits["time"] = Json.Text(Time ?? TimeSpan.FromSeconds(1));
            search["limits"] = limits;
            if (Seed != null) search["seed"] = Json.Text(Seed.Value);
            if (BeliefWorlds > 0) search["beliefWorlds"] = BeliefWorlds;
            return search;
        }
    }

    /// <summary>Who plays a seat of a new match.</summary>
    public static class Players {
        /// <summary>The caller, who gets the token.</summary>
        public static JObject Open(string displayName = "") =>
            new JObject { ["open"] = new JObject(), ["displayName"] = displayName };

        /// <summary>A bot: "RANDOM", "BEGINNER", "CASUAL", "REGULAR", "SKILLED" or "EXPERT".</summary>
        public static JObject Bot(string strength) =>
            new JObject { ["bot"] = new JObject { ["strength"] = "BOT_STRENGTH_" + strength } };

        /// <summary>Whoever joins by the invitation.</summary>
        public static JObject Invited() => new JObject { ["invited"] = new JObject() };
    }

    /// <summary>A match that was just created or joined, with the tokens that the caller got.</summary>
    public sealed class NewMatch {
        /// <summary>The name, "matches/{match}".</summary>
        public readonly string Name;

        /// <summary>The open seats, by number, or the one that was joined.</summary>
        public readonly Dictionary<int, Match> Seats = new Dictionary<int, Match>();

        /// <summary>Of the invited seats, by number: each to be sent to whoever shall play there.</summary>
        public readonly Dictionary<int, string> Invitations = new Dictionary<int, string>();

        /// <summary>The response of the server, with the spectators' token and the hash of the secret.</summary>
        public readonly JObject Response;

        internal NewMatch(Client client, JObject response) {
            Response = response;
            Name = Json.Part(response["name"], "name");
            foreach (var each in Json.Messages(response["seatTokens"]).Concat(Json.Messages(new JArray(response["seatToken"]))))
                Seats[(int)Json.Number(each["seat"])] = new Match(client, Name, Json.Part(each["token"], "token"));
            foreach (var each in Json.Messages(response["invitations"]))
                Invitations[(int)Json.Number(each["seat"])] = Json.Text(each["invitation"]);
        }
    }

    /// <summary>A client of a server. Several matches may use it at a time.</summary>
    public sealed class Client : Connection {
        public Client(string server, ITransport transport = null) : base(server, transport ?? new HttpTransport()) { }

        /// <summary>Returns the games of the server, in short.</summary>
        public async Task<JArray> ListGamesAsync(CancellationToken cancel = default(CancellationToken)) =>
            Json.List((await CallAsync("CatalogService/ListGames", new JObject(), null, cancel))["games"]);

        /// <summary>Returns a game, such as "skystones": its rules, cards, words and default ruleset.</summary>
        public async Task<JObject> GetGameAsync(
            string game, string languageCode = "en", CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject { ["name"] = "games/" + game, ["languageCode"] = languageCode };
            return Json.Part(await CallAsync("CatalogService/GetGame", request, null, cancel), "game");
        }

        /// <summary>Creates a match of a game, between two of `Players`.</summary>
        /// <remarks>
        /// `more` has other fields of CreateMatchRequest, such as "timeControl". With a "ruleset" among
        /// them, `game` is not asked for. Its "requestId", if it has one, makes it safe to ask again
        /// after a restart: it is then the same match.
        /// </remarks>
        public async Task<NewMatch> CreateMatchAsync(
            string game, JObject first, JObject second, JObject more = null, CancellationToken cancel = default(CancellationToken)) {
            var request = more == null ? new JObject() : (JObject)more.DeepClone();
            if (request["requestId"] == null) request["requestId"] = Json.NewRequestId();
            if (request["ruleset"] == null) request["ruleset"] = (await GetGameAsync(game, "en", cancel))["defaultRuleset"];
            request["seats"] = new JArray(first, second);
            return new NewMatch(this, await CallAsync("MatchService/CreateMatch", request, null, cancel));
        }

        /// <summary>Returns a match whose name and token are known, as after a restart of the program.</summary>
        public Match Resume(string name, string token) => new Match(this, name, token);

        /// <summary>Tells what an invitation is for, before it is used.</summary>
        public Task<JObject> GetInvitationAsync(string invitation, CancellationToken cancel = default(CancellationToken)) =>
            CallAsync("MatchService/GetInvitation", new JObject { ["invitation"] = invitation }, null, cancel);

        /// <summary>Takes the seat that an invitation is for. Whoever keeps the `requestId` may ask again.</summary>
        public async Task<NewMatch> JoinAsync(
            string invitation, string displayName = "", string requestId = null, CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject {
                ["invitation"] = invitation, ["displayName"] = displayName, ["requestId"] = requestId ?? Json.NewRequestId()
            };
            return new NewMatch(this, await CallAsync("MatchService/JoinMatch", request, null, cancel));
        }

        /// <summary>Returns a page of the puzzles of a game: `puzzles`, and `nextPageToken` for the next page.</summary>
        public Task<JObject> ListPuzzlesAsync(
            string game, string theme = "", string pageToken = "", CancellationToken cancel = default(CancellationToken)) {
            var request = new JObject { ["parent"] = "games/" + game, ["theme"] = theme, ["pageToken"] = pageToken };
            return CallAsync("PuzzleService/ListPuzzles", request, null, cancel);
        }

        /// <summary>Returns a puzzle with its view; `name` is as in the list.</summary>
        public async Task<JObject> GetPuzzleAsync(string name, CancellationToken cancel = default(CancellationToken)) =>
            Json.Part(await CallAsync("PuzzleService/GetPuzzle", new JObject { ["name"] = name }, null, cancel), "puzzle");

        /// <summary>Says whether an action is `correct`, and what the answer leads to.</summary>
        public Task<JObject> SolvePuzzleAsync(string name, JToken action, CancellationToken cancel = default(CancellationToken)) =>
            CallAsync("PuzzleService/SolvePuzzle", new JObject { ["name"] = name, ["action"] = action }, null, cancel);

        /// <summary>Searches from a view, hosted or not, and shows each report; returns the final hint.</summary>
        /// <remarks>To end the search at once, cancel it; what was reported last is then the hint.</remarks>
        public Task<JObject> AnalyzeAsync(
            JObject view, SearchLimits limits, Action<JObject> report = null, CancellationToken cancel = default(CancellationToken)) =>
            AnalyzeAsync(limits.Search("view", view), null, report, cancel);

        internal async Task<JObject> AnalyzeAsync(JObject search, string token, Action<JObject> report, CancellationToken cancel) {
            JObject hint = null;
            await StreamAsync("HintService/AnalyzePosition", () => new JObject { ["search"] = search }, token, told => {
                hint = Json.Part(told, "hint");
                report?.Invoke(hint);
            }, cancel);
            return hint;
        }
    }
}
