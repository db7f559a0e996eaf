"""The generated stubs of the proto package holdfast.v1."""
