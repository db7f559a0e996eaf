module holdfast.dev/go

go 1.23

require (
	go.opentelemetry.io/otel v1.34.0
	go.opentelemetry.io/otel/trace v1.34.0
	golang.org/x/sys v0.29.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250115164207-1a7da9e5054f
	google.golang.org/grpc v1.71.3
	google.golang.org/protobuf v1.36.4
	holdfast.dev/go/holdfast v0.0.0
)

require (
	golang.org/x/net v0.34.0 // indirect
	golang.org/x/text v0.21.0 // indirect
)

// The stubs. tools/pack-go.mjs copies them into the module that is published.
replace holdfast.dev/go/holdfast => ../../generated/go/holdfast
