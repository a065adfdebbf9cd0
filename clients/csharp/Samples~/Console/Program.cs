// Plays a whole match by the hints of the server, against a bot.
using System;
using System.Linq;
using System.Threading.Tasks;
using Croupier;

internal static class Program {
    // Arguments: the server, the game and the iterations of each hint.
    private static int Main(string[] arguments) {
        try {
            PlayAsync(
                arguments.Length > 0 ? arguments[0] : "http://127.0.0.1:8080",
                arguments.Length > 1 ? arguments[1] : "skystones",
                arguments.Length > 2 ? int.Parse(arguments[2]) : 500).GetAwaiter().GetResult();
            return 0;
        } catch (CroupierException error) {
            Console.Error.WriteLine(error); // The status, and on further lines what the server says besides.
            return 1;
        }
    }

    // --8<-- [start:play]
    private static async Task PlayAsync(string server, string game, int iterations) {
        var client = new Client(server);
        client.Retrying += error => {
            if (error.Reason == "") Console.Error.WriteLine("no server: " + error.Message); // Else it only has to wait.
        };
        var match = (await client.CreateMatchAsync(game, Players.Open("Console"), Players.Bot("CASUAL"))).Seats[0];
        Console.WriteLine(match.Name); // With match.Token all that it takes to come back: client.Resume.
        var titles = Json.List((await client.GetGameAsync(game))["seatTitles"]); // How a game calls its seats.
        match.Ended += view => Console.WriteLine(string.Join(", ", titles.Zip(view["result"]["scores"], (title, score) => title + ": " + score)));
        await match.PlayAsync(async view => {
            var hint = await match.AnalyzeAsync(
                new SearchLimits { Iterations = iterations },
                growing => Console.Write("\rafter " + (growing["iterations"] ?? "0") + " iterations "));
            Console.WriteLine("a score of " + ((double?)hint["expectedScore"] ?? 0).ToString("0.00"));
            return hint["action"];
        });
    }
    // --8<-- [end:play]
}
