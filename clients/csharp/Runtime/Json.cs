// Messages as JSON, with the names that the schema gives them there (lowerCamelCase).
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>Reads and writes what JSON has in a form of its own.</summary>
    public static class Json {
        private const int MaxDepth = 99; // More than a message has; what is deeper would overflow the stack.

        /// <summary>Reads a message; null if it is none, such as a page of a proxy.</summary>
        internal static JObject Read(byte[] bytes) {
            // A text that looks like a date stays a text.
            using (var reader = new JsonTextReader(new StringReader(Encoding.UTF8.GetString(bytes)))) {
                reader.DateParseHandling = DateParseHandling.None;
                reader.MaxDepth = MaxDepth;
                try {
                    var message = JObject.Load(reader);
                    return reader.Read() ? null : message;
                } catch (JsonException) {
                    return null;
                }
            }
        }

        internal static byte[] Write(JObject message) => Encoding.UTF8.GetBytes(message.ToString(Formatting.None));

        // Whatever a peer has said, these read it: nothing in here casts a value of a message.

        /// <summary>A number; a 64-bit one is a text in JSON, and 0 is left out.</summary>
        public static ulong Number(JToken value) => TryNumber(Convert.ToString((value as JValue)?.Value, CultureInfo.InvariantCulture)) ?? 0;

        internal static ulong? TryNumber(string text) =>
            ulong.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : (ulong?)null;

        /// <summary>A 64-bit number as JSON has it.</summary>
        public static string Text(ulong number) => number.ToString(CultureInfo.InvariantCulture);

        /// <summary>A duration as JSON has it, such as "0.5s".</summary>
        public static string Text(TimeSpan time) => time.TotalSeconds.ToString("0.###", CultureInfo.InvariantCulture) + "s";

        /// <summary>A text; an empty one where the message has none.</summary>
        public static string Text(JToken value) => (value as JValue)?.Value as string ?? "";

        /// <summary>Whether a value is true; JSON leaves out what is not.</summary>
        internal static bool Holds(JToken value) => (value as JValue)?.Value as bool? == true;

        /// <summary>Bytes, which are Base64 in JSON; none where the message has something else.</summary>
        internal static byte[] Bytes(JToken value) {
            var text = Text(value).TrimEnd('=').Replace('-', '+').Replace('_', '/');
            try {
                return Convert.FromBase64String(text.PadRight((text.Length + 3) / 4 * 4, '='));
            } catch (FormatException) {
                return new byte[0];
            }
        }

        /// <summary>A message within a response, which has it if it is of Croupier.</summary>
        internal static JObject Part(JObject response, string name) => response[name] as JObject ?? throw Lacks(name);

        /// <summary>A text within a response, which has it if it is of Croupier.</summary>
        internal static string Part(JToken value, string name) =>
            Text(value) != "" ? Text(value) : throw Lacks(name);

        private static CroupierException Lacks(string name) =>
            new CroupierException("unknown", "the answer has no " + name + ": is this a server of Croupier?");

        /// <summary>A list; an empty one where the message has none.</summary>
        public static JArray List(JToken value) => value as JArray ?? new JArray();

        /// <summary>A list of messages, without what is none.</summary>
        internal static IEnumerable<JObject> Messages(JToken value) => List(value).OfType<JObject>();

        /// <summary>A message; an empty one where there is none.</summary>
        internal static JObject Message(JToken value) => value as JObject ?? new JObject();

        /// <summary>A random UUID (version 4), which nobody can guess, for a `requestId`.</summary>
        public static string NewRequestId() {
            var bytes = RandomBytes(16);
            bytes[7] = (byte)(bytes[7] & 0x0f | 0x40); // Guid has the first three parts reversed.
            bytes[8] = (byte)(bytes[8] & 0x3f | 0x80);
            return new Guid(bytes).ToString();
        }

        internal static byte[] RandomBytes(int count) {
            var bytes = new byte[count];
            using (var source = RandomNumberGenerator.Create()) source.GetBytes(bytes);
            return bytes;
        }
    }
}
