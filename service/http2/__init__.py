"""A door for gRPC on nghttp2 and the event loop, without the threads of grpcio."""
