// As much of Unity as UnityTransport needs: one thread with frames, and requests that are told of in frames.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

namespace UnityEngine
{
    public static class Time {
        private static readonly Stopwatch Clock = Stopwatch.StartNew();
        public static double realtimeSinceStartupAsDouble { get { return Clock.Elapsed.TotalSeconds; } }
    }

    public class AsyncOperation {
        public event Action<AsyncOperation> completed;
        internal void Complete() { completed?.Invoke(this); }
    }

    // What the sample uses, so that it can be compiled.
    public class MonoBehaviour { }

    public struct Vector2 { }

    public static class PlayerPrefs {
        public static bool HasKey(string key) { return false; }
        public static string GetString(string key) { return ""; }
        public static void SetString(string key, string value) { }
        public static void DeleteKey(string key) { }
        public static void Save() { }
    }

    public static class GUILayout {
        public static void Label(string text) { }
        public static bool Button(string text) { return false; }
        public static Vector2 BeginScrollView(Vector2 at) { return at; }
        public static void EndScrollView() { }
    }

    // As UnitySynchronizationContext: what is posted in a frame is done in the next one.
    public sealed class Frames : SynchronizationContext {
        private readonly ConcurrentQueue<Action> _posted = new ConcurrentQueue<Action>();
        private readonly int _thread = Thread.CurrentThread.ManagedThreadId;
        public static Frames Current_;
        public bool IsHere { get { return Thread.CurrentThread.ManagedThreadId == _thread; } }
        public override void Post(SendOrPostCallback callback, object state) { _posted.Enqueue(() => callback(state)); }
        public void Post(Action action) { _posted.Enqueue(action); }
        public static void Run(Func<Task> work) {
            Current_ = new Frames();
            SetSynchronizationContext(Current_);
            var task = work();
            while (!task.IsCompleted) {
                for (var left = Current_._posted.Count; left > 0; left--) {
                    Action action;
                    if (Current_._posted.TryDequeue(out action)) action();
                }
                Thread.Sleep(2); // The next frame.
            }
            SetSynchronizationContext(null);
            task.GetAwaiter().GetResult();
        }
        public void MustBeHere() { if (!IsHere) throw new InvalidOperationException("not on the main thread"); }
    }
}

namespace UnityEngine.Networking
{
    public class UploadHandler {
        internal byte[] Data;
    }

    public class UploadHandlerRaw : UploadHandler {
        public UploadHandlerRaw(byte[] data) { Data = data; }
    }

    public class DownloadHandler { }

    public class DownloadHandlerScript : DownloadHandler {
        protected virtual bool ReceiveData(byte[] data, int dataLength) { return false; }
        internal bool Give(byte[] data, int length) { return ReceiveData(data, length); }
    }

    public sealed class UnityWebRequestAsyncOperation : AsyncOperation { }

    public sealed class UnityWebRequest : IDisposable {
        public enum Result { InProgress, Success, ConnectionError, ProtocolError, DataProcessingError }
        private static readonly HttpClient Stays = Client(false), Follows = Client(true);
        private static HttpClient Client(bool follows) {
            var handler = new HttpClientHandler { MaxConnectionsPerServer = 64, AllowAutoRedirect = follows };
            return new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        }
        private readonly CancellationTokenSource _abort = new CancellationTokenSource();
        private readonly Dictionary<string, string> _headers = new Dictionary<string, string>();
        private readonly DownloadHandlerScript _download;
        private readonly UploadHandler _upload;
        private readonly string _url;
        private string _retryAfter;
        private bool _disposed;
        public UnityWebRequest(string url, string method, DownloadHandler download, UploadHandler upload) {
            Frames.Current_.MustBeHere();
            if (method != "POST") throw new ArgumentException(method);
            _url = url;
            _download = (DownloadHandlerScript)download;
            _upload = upload;
        }
        public Result result { get; private set; }
        public long responseCode { get; private set; }
        public string error { get; private set; }
        public bool useHttpContinue { get; set; }
        public int redirectLimit = 32;
        public void SetRequestHeader(string name, string value) { _headers[name] = value; }
        public string GetResponseHeader(string name) { return name == "retry-after" ? _retryAfter : null; }
        public void Abort() { Frames.Current_.MustBeHere(); _abort.Cancel(); }
        public void Dispose() { Frames.Current_.MustBeHere(); _disposed = true; }
        public UnityWebRequestAsyncOperation SendWebRequest() {
            Frames.Current_.MustBeHere();
            var operation = new UnityWebRequestAsyncOperation();
            ThreadPool.QueueUserWorkItem(_ => SendAsync(operation).Wait());
            return operation;
        }
        private async Task SendAsync(UnityWebRequestAsyncOperation operation) {
            var ended = Result.ConnectionError;
            try {
                var request = new HttpRequestMessage(HttpMethod.Post, _url) { Content = new ByteArrayContent(_upload.Data) };
                foreach (var each in _headers)
                    if (each.Key == "content-type") request.Content.Headers.Add(each.Key, each.Value);
                    else request.Headers.Add(each.Key, each.Value);
                request.Headers.ExpectContinue = false;
                var http = redirectLimit == 0 ? Stays : Follows;
                using (var response = await http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, _abort.Token))
                using (_abort.Token.Register(response.Dispose)) {
                    IEnumerable<string> after;
                    if (response.Headers.TryGetValues("retry-after", out after)) _retryAfter = after.First();
                    Frames.Current_.Post(() => responseCode = (long)response.StatusCode);
                    var stream = await response.Content.ReadAsStreamAsync();
                    var piece = new byte[1000];
                    int count;
                    while ((count = await stream.ReadAsync(piece, 0, piece.Length)) > 0) {
                        var part = piece.Take(count).ToArray();
                        Frames.Current_.Post(() => { if (!_disposed && result == Result.InProgress && !_download.Give(part, part.Length)) _abort.Cancel(); });
                    }
                    ended = response.IsSuccessStatusCode ? Result.Success : Result.ProtocolError;
                    if ((int)response.StatusCode / 100 == 3) throw new InvalidOperationException("Redirect limit exceeded");
                }
            } catch (Exception lost) {
                ended = Result.ConnectionError;
                for (error = lost.Message; lost != null; lost = lost.InnerException)
                    if (lost is System.Security.Authentication.AuthenticationException) error = "SSL CA certificate error";
            }
            Frames.Current_.Post(() => { result = ended; operation.Complete(); });
        }
    }
}
