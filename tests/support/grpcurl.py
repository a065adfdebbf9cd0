"""A stand-in for grpcurl, so that tests can run its commands where it is not installed.

It knows the options that the docs use: -plaintext, -H, -d and -max-time; then the address, and
`list`, `describe` or a method. As grpcurl does, it asks the server by reflection, and prints JSON.
"""

import argparse
import sys

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-plaintext", action="store_true", required=True)
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-d", default="{}")
    parser.add_argument("-max-time", type=float)
    parser.add_argument("words", nargs="+")
    options = parser.parse_args()
    address, method, *names = options.words
    with grpc.insecure_channel(address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        pool = DescriptorPool(database)
        if method == "list":
            print(*database.get_services(), sep="\n")
        elif method == "describe":
            print(pool.FindServiceByName(names[0]).full_name)
        else:
            call(channel, pool, method, options)


def call(channel, pool, name, options):
    service, _, method = name.partition("/")
    described = pool.FindServiceByName(service).FindMethodByName(method)
    request = message_factory.GetMessageClass(described.input_type)()
    answer = message_factory.GetMessageClass(described.output_type)
    json_format.Parse(options.d, request, descriptor_pool=pool)
    start = channel.unary_stream if described.server_streaming else channel.unary_unary
    send = start(
        f"/{name}", type(request).SerializeToString, answer.FromString, _registered_method=True
    )
    headers = (header.partition(":") for header in options.H)
    metadata = [(key.lower(), value.strip()) for key, _, value in headers]
    try:
        answers = send(request, metadata=metadata, timeout=options.max_time)
        for each in answers if described.server_streaming else [answers]:
            text = json_format.MessageToJson(
                each, preserving_proto_field_name=True, descriptor_pool=pool
            )
            print(text, flush=True)
    except grpc.RpcError as error:
        print(f"ERROR:\n  Code: {error.code().name}\n  Message: {error.details()}", file=sys.stderr)
        sys.exit(64 + error.code().value[0])


if __name__ == "__main__":
    main()
