package dev.holdfast.client;

import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The addresses of servers, "host:port". */
final class Addresses {
  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(?:[^:/\\s\\[\\]]+|\\[[^/\\s\\[\\]]+\\]):(\\d{1,5})");

  private Addresses() {}

  /** Several addresses, as elements or separated by commas. */
  static List<String> of(String... lists) {
    List<String> addresses = new ArrayList<>();
    for (String list : lists) {
      for (String address : list.split(",", -1)) {
        String trimmed = address.trim();
        if (!isHostAndPort(trimmed)) {
          throw new IllegalArgumentException(
              "an address must be \"host:port\", not \"" + trimmed + "\"");
        }
        addresses.add(trimmed);
      }
    }
    if (addresses.isEmpty()) {
      throw new IllegalArgumentException("connect needs at least one address");
    }
    return List.copyOf(addresses);
  }

  /** A URL, or a port that no server has, would be tried again and again. */
  private static boolean isHostAndPort(String address) {
    Matcher parts = HOST_AND_PORT.matcher(address);
    if (!parts.matches()) {
      return false;
    }
    int port = Integer.parseInt(parts.group(1));
    return port > 0 && port <= 65_535;
  }

  /**
   * Throws a CredentialException if a token would cross a network without TLS, where others can
   * read and use the token. A loopback address is no network.
   */
  static void refuseTokenBeyondLoopback(List<String> addresses) {
    for (String address : addresses) {
      if (!isLoopback(address)) {
        String text =
            "the token would go to "
                + address
                + " without TLS, and anybody on the way could use it: add tls, or"
                + " allowInsecureToken if the network itself is encrypted";
        int code = Status.Code.UNAUTHENTICATED.value();
        throw new CredentialException(text, new ErrorFacts("TOKEN_WITHOUT_TLS", code), null);
      }
    }
  }

  static boolean isLoopback(String address) {
    String host = address.substring(0, address.lastIndexOf(':')).toLowerCase(Locale.ROOT);
    return host.equals("localhost")
        || host.equals("[::1]")
        || host.matches("127\\.\\d+\\.\\d+\\.\\d+|\\[::ffff:127\\.\\d+\\.\\d+\\.\\d+\\]");
  }
}
