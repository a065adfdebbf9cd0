// The one exception of the client, with all that the server said.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>A field of a request that breaks a rule.</summary>
    public sealed class FieldViolation {
        public string Field = "", Description = "";

        /// <summary>Identifies the rule, such as "STRING_PATTERN".</summary>
        public string Reason = "";
    }

    /// <summary>A call that the server refused, or that did not reach a server.</summary>
    public sealed class CroupierException : Exception {
        // What a lost connection, or a proxy that has lost its server, looks like.
        private static readonly string[] Lost =
            { "unavailable", "internal", "unknown", "canceled", "deadline_exceeded", "aborted" };

        /// <summary>The status as Connect names it, such as "failed_precondition".</summary>
        public readonly string Code;

        /// <summary>A name of ErrorReason without its prefix; empty if the server itself did not answer.</summary>
        public string Reason { get; private set; }

        /// <summary>What the reason comes with, such as "current_version".</summary>
        public readonly Dictionary<string, string> Metadata = new Dictionary<string, string>();

        /// <summary>The fields of the request that are at fault.</summary>
        public readonly List<FieldViolation> Violations = new List<FieldViolation>();

        /// <summary>The quotas that are used up.</summary>
        public readonly List<string> Quotas = new List<string>();

        /// <summary>The seconds after which the same call may succeed, if the server named them.</summary>
        public double? RetryAfter { get; private set; }

        public CroupierException(string code, string message) : base(message) {
            Code = code;
            Reason = "";
        }

        /// <summary>Whether the same call may succeed later, or at another server.</summary>
        public bool MayPass {
            get {
                if (Reason == "") return Lost.Contains(Code);
                return Code == "unavailable" || Code == "resource_exhausted" && RetryAfter != null;
            }
        }

        internal ulong? CurrentVersion => Metadata.TryGetValue("current_version", out var version) ? Json.TryNumber(version) : null;

        public override string ToString() {
            var metadata = Metadata.Select(each => " " + each.Key + "=" + each.Value);
            var lines = new List<string> { Code + ": " + Message };
            if (Reason != "") lines.Add("  reason " + Reason + string.Concat(metadata));
            lines.AddRange(Violations.Select(each => "  field " + each.Field + ": " + each.Description + " (" + each.Reason + ")"));
            lines.AddRange(Quotas.Select(each => "  quota of " + each));
            if (RetryAfter != null) lines.Add("  retry after " + RetryAfter + " s");
            return string.Join("\n", lines);
        }

        /// <summary>The error that a response is; `error` is its body, or null if that is no JSON.</summary>
        internal static CroupierException Of(int status, JObject error, double? retryAfter) {
            string code = Json.Text(error?["code"]), text = Json.Text(error?["message"]);
            if (text == "") text = "HTTP status " + status + (status / 100 == 3 ? ": redirects are not followed; is the address right?" : "");
            var read = new CroupierException(code == "" ? CodeOf(status) : code, text) { RetryAfter = retryAfter };
            foreach (var detail in Json.Messages(code == "" ? null : error["details"]))
                read.Add(Json.Text(detail["type"]), new WireMessage(Json.Bytes(detail["value"])));
            return read;
        }

        private void Add(string type, WireMessage detail) {
            if (type == "google.rpc.ErrorInfo" && detail.Text(2) == "croupier.v1") {
                Reason = detail.Text(1);
                foreach (var entry in detail.Messages(3)) Metadata[entry.Text(1)] = entry.Text(2);
            } else if (type == "google.rpc.BadRequest") {
                Violations.AddRange(detail.Messages(1).Select(each => new FieldViolation {
                    Field = each.Text(1), Description = each.Text(2), Reason = each.Text(3)
                }));
            } else if (type == "google.rpc.QuotaFailure") {
                Quotas.AddRange(detail.Messages(1).Select(each => each.Text(1) + ": " + each.Text(2)));
            } else if (type == "google.rpc.RetryInfo") {
                foreach (var each in detail.Messages(1)) RetryAfter = Math.Max(0, each.Number(1) + each.Number(2) / 1e9);
            }
        }

        /// <summary>What Connect takes a status of HTTP for that comes without an error of its own.</summary>
        private static string CodeOf(int status) {
            switch (status) {
                case 400: return "internal";
                case 401: return "unauthenticated";
                case 403: return "permission_denied";
                case 404: return "unimplemented";
                case 408: return "deadline_exceeded";
                case 429: case 502: case 503: case 504: return "unavailable";
                default: return status / 100 == 3 ? "failed_precondition" : "unknown";
            }
        }
    }

    /// <summary>A message of protobuf, of which JSON has only the bytes: a detail of an error.</summary>
    internal sealed class WireMessage {
        private readonly List<KeyValuePair<ulong, byte[]>> _texts = new List<KeyValuePair<ulong, byte[]>>();
        private readonly Dictionary<ulong, ulong> _numbers = new Dictionary<ulong, ulong>();
        private readonly byte[] _bytes;
        private int _at;

        public WireMessage(byte[] bytes) {
            _bytes = bytes;
            while (_at < bytes.Length) {
                var tag = Varint();
                if ((tag & 7) == 0) _numbers[tag >> 3] = Varint();
                else if ((tag & 7) == 2) {
                    var size = (int)Math.Min(Varint(), (ulong)(bytes.Length - _at));
                    _texts.Add(new KeyValuePair<ulong, byte[]>(tag >> 3, bytes.Skip(_at).Take(size).ToArray()));
                    _at += size;
                } else return; // None of these messages has another type.
            }
        }

        public double Number(ulong field) => _numbers.TryGetValue(field, out var number) ? (long)number : 0;

        public string Text(ulong field) =>
            string.Concat(_texts.Where(each => each.Key == field).Select(each => Encoding.UTF8.GetString(each.Value)));

        public IEnumerable<WireMessage> Messages(ulong field) =>
            _texts.Where(each => each.Key == field).Select(each => new WireMessage(each.Value));

        private ulong Varint() {
            var value = 0UL;
            for (var shift = 0; _at < _bytes.Length; shift += 7) {
                value |= (_bytes[_at] & 127UL) << shift;
                if (_bytes[_at++] < 128) break;
            }
            return value;
        }
    }
}
