"""Holdfast: locks and leases over gRPC. The stubs are in holdfast.v1."""
