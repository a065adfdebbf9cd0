package main

// The stubs are made of the schemas that `croupier schema --plain --output ../schemas` writes. The
// generators are those that go.mod pins; protoc must be in the PATH.
//go:generate go build -o bin/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
//go:generate sh -c "protoc -I ../schemas --plugin=bin/protoc-gen-go --plugin=bin/protoc-gen-go-grpc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative ../schemas/croupier/v1/*.proto"
