module holdfast.dev/go/examples

go 1.23

require (
	golang.org/x/sync v0.10.0
	holdfast.dev/go v0.1.0
)

require (
	golang.org/x/net v0.34.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
	golang.org/x/text v0.21.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250115164207-1a7da9e5054f // indirect
	google.golang.org/grpc v1.71.3 // indirect
	google.golang.org/protobuf v1.36.4 // indirect
	holdfast.dev/go/holdfast v0.0.0 // indirect
)

// The client and its stubs in this repository. A program of yours replaces only
// holdfast.dev/go, with the module of tools/pack-go.mjs.
replace (
	holdfast.dev/go => ../../clients/go
	holdfast.dev/go/holdfast => ../../generated/go/holdfast
)
