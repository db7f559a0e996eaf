"""What a server tells about itself."""

from dataclasses import dataclass
from typing import Tuple

from .v1.server_service_pb2 import Feature, GetServerInfoResponse


@dataclass(frozen=True)
class ServerInfo:
    version: str
    #: The names of Feature without their prefix, for example SESSIONS. A newer server may have
    #: features without a name here.
    features: Tuple[str, ...]


def info_of(response: GetServerInfoResponse) -> ServerInfo:
    names = {number: name for name, number in Feature.items()}
    found = (names.get(feature) for feature in response.features)
    features = tuple(name[len("FEATURE_") :] for name in found if name is not None)
    return ServerInfo(response.version, features)
