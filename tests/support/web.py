"""Calls through the web gateway, written by hand from the specifications of the protocols.

Connect: https://connectrpc.com/docs/protocol. gRPC-Web: PROTOCOL-WEB.md of grpc/grpc. A library
would send only what is right.
"""

import base64
import http.client
import json
import socket
import struct
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from google.protobuf import json_format
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2, error_details_pb2, status_pb2

from tests.support.serving import Client

COMPRESSED, CONNECT_END, WEB_TRAILERS = 1, 2, 128


class Failure(NamedTuple):
    """An error as a client reads it."""

    code: str  # As in google.rpc.Code.
    message: str
    details: list

    @property
    def reason(self):
        for detail in self.details:
            if isinstance(detail, error_details_pb2.ErrorInfo):
                return detail.reason
        return None


class Failed(Exception):
    """A call that has failed."""

    def __init__(self, failure):
        super().__init__(failure)
        self.failure = failure


def method_of(name):
    """The descriptor of a method, as "MatchService.GetView"."""
    service, method = name.split(".")
    services = Default().FindServiceByName(f"croupier.v1.{service}")
    return services.methods_by_name[method]


def path_of(name):
    return f"/croupier.v1.{name.replace('.', '/')}"


def post(body=b"{}", version="1.1", path="/croupier.v1.CatalogService/ListGames", **headers):
    """A request by POST, as it is sent; a header of None is left out."""
    chosen = {
        "host": "localhost",
        "content-type": "application/json",
        "content-length": len(body),
    } | {name.replace("_", "-"): text for name, text in headers.items()}
    lines = [f"{name}: {text}\r\n" for name, text in chosen.items() if text is not None]
    return f"POST {path} HTTP/{version}\r\n{''.join(lines)}\r\n".encode() + body


def get(path="/", host="localhost", version="1.1"):
    """A request by GET, as it is sent, after whose response the connection is closed."""
    return f"GET {path} HTTP/{version}\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode()


def connect(url):
    """A connection to a server, on which anything can be sent."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port))


def read_all(connection):
    """What comes until the server closes the connection."""
    data = b""
    try:
        while received := connection.recv(65536):
            data += received
    except ConnectionResetError:
        pass
    return data


def say(url, said):
    """What the server answers until it closes the connection."""
    with connect(url) as connection:
        connection.sendall(said)
        return read_all(connection)


def status_of(answer):
    """The status of a response."""
    return int(answer.split(b" ", 2)[1])


def reset(connection):
    """Closes a connection by a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Caller:
    """A caller over one protocol: "connect", "json" or "grpc-web"."""

    def __init__(self, url, protocol="json"):
        self.netloc = urlsplit(url).netloc
        self.protocol = protocol

    def connect(self):
        return http.client.HTTPConnection(self.netloc)

    def call(self, name, request, token=None, headers=(), timeout=None):
        """Makes a unary call; raises Failed."""
        with self.start(name, request, token, headers, timeout) as answer:
            return answer.only()

    def stream(self, name, request, token=None, headers=(), timeout=None):
        """The responses of a call; raises Failed at its end if it fails."""
        with self.start(name, request, token, headers, timeout) as answer:
            yield from answer.messages()

    def start(self, name, request, token=None, headers=(), timeout=None):
        """Sends a request, and returns its Answer, of which nothing has been read."""
        method = method_of(name)
        sent = {"user-agent": "tests", **dict(headers)}
        if token:
            sent["authorization"] = f"Bearer {token}"
        enveloped = self.protocol == "grpc-web" or method.server_streaming
        if self.protocol == "grpc-web":
            sent |= {"content-type": "application/grpc-web+proto", "x-grpc-web": "1"}
            if timeout is not None:
                sent["grpc-timeout"] = f"{round(1000 * timeout)}m"
        else:
            codec = "json" if self.protocol == "json" else "proto"
            prefix = "connect+" if enveloped else ""
            sent |= {
                "content-type": f"application/{prefix}{codec}",
                "connect-protocol-version": "1",
            }
            if timeout is not None:
                sent["connect-timeout-ms"] = str(round(1000 * timeout))
        body = self.encode(request)
        connection = self.connect()
        connection.request(
            "POST", path_of(name), envelope(0, body) if enveloped else body, headers=sent
        )
        return Answer(self, method, connection)

    def encode(self, request):
        if self.protocol == "json":
            return json_format.MessageToJson(request).encode()
        return request.SerializeToString()

    def decode(self, data, message_class):
        if self.protocol == "json":
            return json_format.Parse(data, message_class())
        return message_class.FromString(data)


class Answer:
    """The response to a request that was sent."""

    def __init__(self, caller, method, connection):
        self._caller = caller
        self._method = method
        self._connection = connection
        self._message_class = GetMessageClass(method.output_type)
        self._response = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    @property
    def response(self):
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    def only(self):
        if self._caller.protocol == "grpc-web":
            (message,) = self.messages()
            return message
        data = self.response.read()
        if self.response.status != 200:
            raise Failed(connect_failure(json.loads(data)))
        return self._caller.decode(data, self._message_class)

    def messages(self):
        """The messages as they come, each as the server has written it."""
        if self.response.status != 200:
            raise Failed(connect_failure(json.loads(self.response.read())))
        if "grpc-status" in self.response.headers:
            end_web(self.response.headers)
        while True:
            flags, data = self.envelope()
            if flags == CONNECT_END:
                error = json.loads(data).get("error")
                if error:
                    raise Failed(connect_failure(error))
                return
            if flags == WEB_TRAILERS:
                end_web(dict(line.split(": ", 1) for line in data.decode().splitlines()))
                return
            assert flags == 0
            yield self._caller.decode(data, self._message_class)

    def envelope(self):
        """The flags and the data of the next envelope."""
        head = self.response.read(5)
        assert len(head) == 5, head
        flags, size = struct.unpack(">BI", head)
        data = self.response.read(size)
        assert len(data) == size
        return flags, data


def envelope(flags, data):
    return struct.pack(">BI", flags, len(data)) + data


def end_web(trailers):
    number = int(trailers["grpc-status"])
    if number:
        packed = trailers.get("grpc-status-details-bin", "")
        status = status_pb2.Status.FromString(base64.b64decode(packed + "==="))
        assert status.code in (number, 0)
        raise Failed(
            Failure(
                code_pb2.Code.Name(number),
                unquote(trailers["grpc-message"]),
                [unpack(each.type_url.rpartition("/")[2], each.value) for each in status.details],
            )
        )


def connect_failure(error):
    code = error["code"].upper().replace("CANCELED", "CANCELLED")
    details = [
        unpack(each["type"], base64.b64decode(each["value"] + "==="))
        for each in error.get("details", [])
    ]
    return Failure(code, error.get("message", ""), details)


def unpack(name, value):
    return GetMessageClass(Default().FindMessageTypeByName(name)).FromString(value)


def get_url(name, request):
    """The path by which a call without side effects can be made with GET."""
    message = quote(json_format.MessageToJson(request, indent=None))
    return f"{path_of(name)}?connect=v1&encoding=json&message={message}"


class WebClient(Client):
    """A client as that of gRPC, which calls through the gateway."""

    def __init__(self, url, protocol="connect"):
        self.address = url
        caller = Caller(url, protocol)
        self.catalog, self.matches, self.hints = (
            Stub(caller, f"{each}Service") for each in ("Catalog", "Match", "Hint")
        )

    def close(self):
        """Does nothing: each call has a connection of its own."""


class Stub:
    """The methods of a service."""

    def __init__(self, caller, service):
        self._caller = caller
        self._service = service

    def __getattr__(self, name):
        return Method(self._caller, f"{self._service}.{name}")


class Method(NamedTuple):
    """A method of a service, called as a method of gRPC's stubs."""

    caller: Caller
    name: str

    def __call__(self, request, metadata=(), timeout=None):
        if not method_of(self.name).server_streaming:
            return self.caller.call(self.name, request, headers=metadata, timeout=timeout)
        return Stream(self.caller.start(self.name, request, None, metadata, timeout))

    def received(self, request, metadata):
        """The messages or the failure of a call, its HTTP status and its headers."""
        with self.caller.start(self.name, request, None, metadata) as answer:
            try:
                if method_of(self.name).server_streaming:
                    messages = list(answer.messages())
                else:
                    messages = [answer.only()]
            except Failed as failed:
                messages = failed.failure
            headers = [each for each in answer.response.getheaders() if each[0] != "date"]
            return messages, answer.response.status, headers


class Stream:
    """The responses of a call as they come."""

    def __init__(self, answer):
        self.answer = answer
        self._messages = answer.messages()

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._messages)

    def cancel(self):
        """Goes away."""
        self.answer.__exit__()
