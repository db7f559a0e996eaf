# Turns off the fork handlers of gRPC, which only the import before that of grpc can do.
import holdfast  # noqa: F401
