// Checks what needs no server: envelopes in pieces, errors, deadlines, tokens.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Croupier;
using Newtonsoft.Json.Linq;

internal static class Units {
    private static int _failed;

    private static int Main() {
        EnvelopesInPieces().Wait();
        Errors().Wait();
        Deadlines().Wait();
        Tokens().Wait();
        Reviews().Wait();
        Silence().Wait();
        LostVersions().Wait();
        RequestIds();
        UnityEngine.Frames.Run(OneThread);
        Console.WriteLine(_failed == 0 ? "units: all hold" : "units: " + _failed + " FAILED");
        return _failed == 0 ? 0 : 1;
    }

    private static void Demand(bool holds, string what) {
        if (holds) return;
        _failed++;
        Console.WriteLine("FAILED: " + what);
    }

    // A stream whose response comes in pieces of each size, then breaks or ends.
    private static async Task EnvelopesInPieces() {
        var messages = new[] { "{\"version\":\"1\"}", "{}", "{\"a\":\"" + new string('x', 70000) + "\"}" };
        for (var size = 1; size < 300; size = size * 2 + 1) {
            foreach (var end in new[] { "{}", "{\"error\":{\"code\":\"not_found\",\"message\":\"gone\"}}", "{\"error\":\"x\"}", "rubbish", null }) {
                var body = messages.SelectMany(each => Envelope(0, each)).ToList();
                if (end != null) body.AddRange(Envelope(2, end));
                var client = Quick(new Script(200, body.ToArray(), size));
                client.Patience = TimeSpan.Zero;
                var got = new List<string>();
                CroupierException error = null;
                try {
                    await client.StreamAsync("S/M", () => new JObject(), null, each => got.Add(each.ToString(Newtonsoft.Json.Formatting.None)), CancellationToken.None);
                } catch (CroupierException refused) {
                    error = refused;
                }
                Demand(got.SequenceEqual(messages), "messages in pieces of " + size);
                var code = end == "{}" ? null : end != null && end.Contains("not_found") ? "not_found" : "unknown";
                Demand(error?.Code == code, "the end " + end + " in pieces of " + size + ": " + error);
            }
        }
    }

    private static async Task Errors() {
        var info = Field(1, "STALE_VERSION").Concat(Field(2, "croupier.v1")).Concat(Bytes(3, Field(1, "current_version").Concat(Field(2, "7")).ToArray()));
        var bad = Bytes(1, Field(1, "action").Concat(Field(2, "is void")).Concat(Field(3, "REQUIRED")).ToArray());
        var retry = Bytes(1, new byte[] { 8, 2, 16, 128, 202, 181, 238, 1 }); // 2 s and 0.5e9 ns.
        var details = new JArray(Detail("ErrorInfo", info), Detail("BadRequest", bad), Detail("RetryInfo", retry), Detail("Other", new byte[] { 13, 1, 2 }));
        var body = new JObject { ["code"] = "aborted", ["message"] = "gone on", ["details"] = details };
        var error = await Refused(new Script(409, Encoding.UTF8.GetBytes(body.ToString()), 5));
        Demand(error.Reason == "STALE_VERSION" && error.Metadata["current_version"] == "7", "the reason: " + error);
        Demand(error.Violations.Single().Field == "action" && error.Violations[0].Reason == "REQUIRED", "the violations: " + error);
        Demand(error.RetryAfter == 2.5, "the delay: " + error.RetryAfter);
        Demand(!error.MayPass && Match.IsLate(error), "a stale version is not repeated");
        Demand(Json.Number(new JObject()) == 0 && Json.Number("-1") == 0 && Json.Number("7") == 7, "numbers");
    }

    // A call that nobody answers ends at its deadline, is repeated, and ends with the patience or when cancelled.
    private static async Task Deadlines() {
        var script = new Script(0, null, 1);
        var client = Quick(script);
        client.Timeout = TimeSpan.FromSeconds(-1.95);
        client.Patience = TimeSpan.FromSeconds(0.5);
        Demand((await Refused(client)).Code == "deadline_exceeded", "no answer");
        Demand(script.Calls > 1 && script.Cancelled == script.Calls, script.Calls + " calls, of which ended: " + script.Cancelled);
        await script.Late;
        var cancel = new CancellationTokenSource();
        var call = client.CallAsync("S/M", new JObject(), null, cancel.Token);
        cancel.Cancel();
        try {
            await call;
            Demand(false, "a cancelled call returned");
        } catch (OperationCanceledException) {
        }
    }

    private static async Task Tokens() {
        var script = new Script(200, Encoding.UTF8.GetBytes("{}"), 5);
        var abroad = new Client("http://cards.example.org", script);
        Demand((await Refused(abroad, "secret")).Code == "failed_precondition" && script.Calls == 0, "a token in the clear");
        abroad.Insecure = true;
        await abroad.CallAsync("S/M", new JObject(), "secret");
        Demand(script.Calls == 1, "a token in the clear, wanted");
        Demand((await Refused(abroad, "secret\n")).Code == "unauthenticated" && script.Calls == 1, "a token that no header carries");
    }

    // Where the server dies in a review, the next one says again what it had said, and how far it is itself.
    private static async Task Reviews() {
        Func<int, string, byte[]> report = (judged, found) => Envelope(0, "{\"progress\":{\"decisionsJudged\":" + judged + "}," + found + "}");
        var first = "\"decision\":{\"version\":\"1\"}";
        var second = "\"decision\":{\"version\":\"2\"}";
        var broken = report(1, first);
        var whole = report(5, first).Concat(report(6, second)).Concat(report(6, "\"summary\":{}")).Concat(Envelope(2, "{}"));
        var client = Quick(new Script(200, broken, 7, whole.ToArray()));
        var got = new List<string>();
        await client.Resume("matches/a", "t").ReviewAsync(each => got.Add((string)each["decision"]?["version"] ?? "summary"));
        Demand(string.Join(" ", got) == "1 2 summary", "a review that was cut off: " + string.Join(" ", got));
    }

    // A stream that has fallen silent, though its connection stays, is resumed behind what it has brought.
    private static async Task Silence() {
        var first = Envelope(0, "{\"version\":\"7\",\"view\":{\"version\":\"7\"}}");
        var last = Envelope(0, "{\"version\":\"8\",\"view\":{\"version\":\"8\",\"result\":{}}}").Concat(Envelope(2, "{}"));
        var script = new Script(200, first, 100, last.ToArray()) { Silent = true };
        var match = Quick(script).Resume("matches/a", "t");
        match.Heartbeat = TimeSpan.FromSeconds(0.1);
        var got = new List<string>();
        match.ViewChanged += change => got.Add(Json.Text(change.Version));
        match.ConnectionChanged += there => got.Add(there ? "there" : "lost");
        match.Ended += view => got.Add("over");
        await match.FollowAsync();
        Demand(string.Join(" ", got) == "7 lost there 8 over", "a silent stream: " + string.Join(" ", got));
        Demand(script.Cancelled == 1 && script.Request.Contains("\"afterVersion\":\"7\""), "resumed by " + script.Request);
    }

    // Where a restored log lacks versions that were told, the stream goes on from what the match is now.
    private static async Task LostVersions() {
        var info = Field(1, "VERSION_IN_FUTURE").Concat(Field(2, "croupier.v1")).Concat(Bytes(3, Field(1, "current_version").Concat(Field(2, "3")).ToArray()));
        var error = new JObject { ["code"] = "out_of_range", ["message"] = "", ["details"] = new JArray(Detail("ErrorInfo", info)) };
        var first = Envelope(0, "{\"version\":\"7\",\"etag\":\"a\",\"view\":{\"version\":\"7\"}}").Concat(Envelope(2, new JObject { ["error"] = error }.ToString()));
        var last = Envelope(0, "{\"version\":\"3\",\"view\":{\"version\":\"3\",\"result\":{}}}").Concat(Envelope(2, "{}"));
        var script = new Script(200, first.ToArray(), 100, last.ToArray());
        var match = Quick(script).Resume("matches/a", "t");
        await match.FollowAsync();
        Demand(script.Request.Contains("\"afterVersion\":\"2\"") && script.Request.Contains("\"etag\":\"\""), "asked for " + script.Request);
        Demand(Json.Number(match.View["version"]) == 3, "the view is " + match.View);
    }

    private static void RequestIds() {
        var ids = Enumerable.Range(0, 1000).Select(_ => Json.NewRequestId()).ToList();
        Demand(ids.Distinct().Count() == 1000, "two requests with one id");
        Demand(ids.All(each => each[14] == '4' && "89ab".IndexOf(each[19]) >= 0), "no UUID of version 4: " + ids[0]);
    }

    // With Unity's transport, what waits does so in frames, on the one thread.
    private static async Task OneThread() {
        var transport = new UnityTransport();
        await transport.DelayAsync(TimeSpan.FromSeconds(0.05), CancellationToken.None);
        UnityEngine.Frames.Current_.MustBeHere();
        var client = new Client("http://127.0.0.1:1", transport) { Patience = TimeSpan.FromSeconds(0.5) };
        var tries = 0;
        client.Retrying += _ => {
            tries++;
            UnityEngine.Frames.Current_.MustBeHere();
        };
        var error = await Refused(client);
        Demand(error.Code == "unavailable" && tries > 0, "nobody listens: " + error);
        UnityEngine.Frames.Current_.MustBeHere();
    }

    private static Client Quick(ITransport transport) {
        return new Client("http://127.0.0.1:1", transport);
    }

    private static Task<CroupierException> Refused(Script script) {
        var client = Quick(script);
        client.Patience = TimeSpan.Zero;
        return Refused(client);
    }

    private static async Task<CroupierException> Refused(Client client, string token = null) {
        try {
            await client.CallAsync("S/M", new JObject(), token);
            return new CroupierException("ok", "it was not refused");
        } catch (CroupierException error) {
            return error;
        }
    }

    private static byte[] Envelope(byte flags, string message) {
        var size = message.Length;
        return new[] { flags, (byte)(size >> 24), (byte)(size >> 16), (byte)(size >> 8), (byte)size }.Concat(Encoding.UTF8.GetBytes(message)).ToArray();
    }

    private static IEnumerable<byte> Field(int number, string text) {
        return Bytes(number, Encoding.UTF8.GetBytes(text));
    }

    private static IEnumerable<byte> Bytes(int number, byte[] bytes) {
        return new[] { (byte)(number << 3 | 2), (byte)bytes.Length }.Concat(bytes);
    }

    private static JObject Detail(string type, IEnumerable<byte> value) {
        return new JObject { ["type"] = "google.rpc." + type, ["value"] = Convert.ToBase64String(value.ToArray()).TrimEnd('=') };
    }

    // A server that answers every call alike, or (status 0) never.
    private sealed class Script : ITransport {
        private readonly int _status, _size;
        private readonly byte[] _body, _later;
        public int Calls, Cancelled;
        public bool Silent; // Does not end the first response.
        public string Request; // The newest.
        public Task Late; // Done when what was on its way at the end of a call has come.

        public Script(int status, byte[] body, int size, byte[] later = null) {
            _later = later ?? body;
            _status = status;
            _body = body;
            _size = size;
        }

        public Task DelayAsync(TimeSpan time, CancellationToken cancel) {
            return Task.Delay(time, cancel);
        }

        public async Task<HttpReply> PostAsync(string url, IDictionary<string, string> headers, byte[] body, Received received, CancellationToken cancel) {
            Calls++;
            Request = Encoding.UTF8.GetString(body);
            if (_status == 0) await ForEver(received, cancel);
            var response = Calls == 1 ? _body : _later;
            for (var at = 0; at < response.Length; at += _size) {
                var piece = response.Skip(at).Take(_size).ToArray();
                if (!received(piece, piece.Length)) throw new CroupierException("unknown", "no more is wanted");
                await Task.Yield();
            }
            if (Silent && Calls == 1) await ForEver(received, cancel);
            return new HttpReply(_status, null);
        }

        private async Task ForEver(Received received, CancellationToken cancel) {
            try {
                await Task.Delay(-1, cancel);
            } finally {
                Cancelled++;
                Late = Task.Delay(20).ContinueWith(_ => { received(new byte[] { 7 }, 1); });
            }
        }
    }
}
