package dev.holdfast.client;

import dev.holdfast.v1.Feature;
import dev.holdfast.v1.GetServerInfoResponse;
import java.util.List;
import java.util.stream.Collectors;

/** The version and the features of a server. */
public final class ServerInfo {
  private final String version;
  private final List<String> features;

  ServerInfo(GetServerInfoResponse message) {
    version = message.getVersion();
    features =
        message.getFeaturesList().stream()
            .filter(feature -> feature != Feature.UNRECOGNIZED)
            .map(feature -> feature.name().replace("FEATURE_", ""))
            .collect(Collectors.toUnmodifiableList());
  }

  public String version() {
    return version;
  }

  /**
   * The names of Feature without their prefix, for example SESSIONS. Features of a newer server
   * that this client does not know are left out.
   */
  public List<String> features() {
    return features;
  }
}
