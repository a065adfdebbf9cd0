// Messages as JSON, with the names that the schema gives them there (lowerCamelCase).
using System;
using System.Globalization;
using System.IO;
using System.Security.Cryptography;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Croupier {
    /// <summary>Reads and writes what JSON has in a form of its own.</summary>
    public static class Json {
        /// <summary>Reads a message; null if it is none, such as a page of a proxy.</summary>
        internal static JObject Read(byte[] bytes) {
            // A text that looks like a date stays a text.
            using (var reader = new JsonTextReader(new StringReader(Encoding.UTF8.GetString(bytes)))) {
                reader.DateParseHandling = DateParseHandling.None;
                try {
                    return JObject.Load(reader);
                } catch (JsonException) {
                    return null;
                }
            }
        }

        internal static byte[] Write(JObject message) => Encoding.UTF8.GetBytes(message.ToString(Formatting.None));

        /// <summary>A 64-bit number, which is a text in JSON, and left out where it is 0.</summary>
        public static ulong Number(JToken value) =>
            ulong.TryParse(Text(value), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : 0;

        /// <summary>A 64-bit number as JSON has it.</summary>
        public static string Text(ulong number) => number.ToString(CultureInfo.InvariantCulture);

        /// <summary>A duration as JSON has it, such as "0.5s".</summary>
        public static string Text(TimeSpan time) => time.TotalSeconds.ToString("0.###", CultureInfo.InvariantCulture) + "s";

        /// <summary>A text; an empty one where the message has none.</summary>
        internal static string Text(JToken value) => (string)(value as JValue) ?? "";

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

        internal static CroupierException Lacks(string name) =>
            new CroupierException("unknown", "the answer has no " + name + ": is this a server of Croupier?");

        /// <summary>A list; an empty one where the message has none.</summary>
        public static JArray List(JToken value) => value as JArray ?? new JArray();

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
