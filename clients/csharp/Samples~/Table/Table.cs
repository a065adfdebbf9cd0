// A match against a bot with one button for each legal action. Put it on any object of a scene.
using System;
using System.Linq;
using System.Threading;
using Croupier;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;
using UnityEngine;

public sealed class Table : MonoBehaviour {
    public string server = "http://127.0.0.1:8080";
    public string game = "skystones";
    private readonly CancellationTokenSource _closed = new CancellationTokenSource();
    private Match _match;
    private JObject _view; // That the choices belong to.
    private JArray _choices = new JArray();
    private string _status = "Connecting ...", _hint = "";
    private Vector2 _scroll;

    private async void Start() {
        try {
            var client = new Client(server, new UnityTransport());
            // Kept for when the program starts again: the token is the seat.
            if (PlayerPrefs.HasKey("croupier.match"))
                _match = client.Resume(PlayerPrefs.GetString("croupier.match"), PlayerPrefs.GetString("croupier.token"));
            else {
                var created = await client.CreateMatchAsync(game, Players.Open("Unity"), Players.Bot("CASUAL"), cancel: _closed.Token);
                _match = created.Seats[0];
                PlayerPrefs.SetString("croupier.match", _match.Name);
                PlayerPrefs.SetString("croupier.token", _match.Token);
                PlayerPrefs.Save();
            }
            _match.ViewChanged += change => {
                _view = change.View;
                _choices = Json.List(_view?["legalActions"]);
                _status = "Version " + change.Version + ": the other side decides";
            };
            _match.YourTurn += view => _status = "Version " + (view["version"] ?? "0") + ": your turn";
            _match.ConnectionChanged += there => _status = there ? "Connected again" : "Connection lost ...";
            var titles = Json.List((await client.GetGameAsync(game, cancel: _closed.Token))["seatTitles"]); // How a game calls its seats.
            _match.Ended += view => _status = string.Join(", ", titles.Zip(Json.List(view["result"]["scores"]), (title, score) => title + ": " + score));
            await _match.FollowAsync(cancel: _closed.Token);
            PlayerPrefs.DeleteKey("croupier.match");
        } catch (OperationCanceledException) {
            // The scene was left.
        } catch (CroupierException error) {
            // A match that the server no longer has is no reason to ask for it for ever.
            if (error.Reason == "MATCH_NOT_FOUND") PlayerPrefs.DeleteKey("croupier.match");
            _status = error.ToString();
        }
    }

    private async void Submit(JToken action) {
        _choices = new JArray(); // One answer for each turn.
        _hint = "";
        try {
            await _match.SubmitAsync(action, _view, cancel: _closed.Token);
        } catch (OperationCanceledException) {
        } catch (CroupierException error) when (Match.IsLate(error)) {
            // The stream shows the newer view.
        } catch (CroupierException error) {
            _status = error.ToString();
        }
    }

    private async void Hint() {
        try {
            await _match.AnalyzeAsync(
                new SearchLimits { Iterations = 5000 },
                hint => _hint = "Hint after " + (hint["iterations"] ?? "0") + ": " + Say(hint["action"]), _closed.Token);
        } catch (OperationCanceledException) {
        } catch (CroupierException error) {
            _hint = error.ToString();
        }
    }

    private void OnGUI() {
        GUILayout.Label(_status);
        GUILayout.Label(_hint);
        if (_choices.Count > 0 && GUILayout.Button("Hint")) Hint();
        _scroll = GUILayout.BeginScrollView(_scroll);
        foreach (var action in _choices)
            if (GUILayout.Button(Say(action))) Submit(action);
        GUILayout.EndScrollView();
    }

    private void OnDestroy() => _closed.Cancel();

    private static string Say(JToken action) => action == null ? "" : action.ToString(Formatting.None);
}
