package dev.holdfast.client;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Gives a bearer token for each session and each call. */
@FunctionalInterface
public interface TokenSource {
  /**
   * May block. Called on a thread of the client, which is interrupted after 10 s, or at the end of
   * the call that needs the token. The client goes on without an answer, and asks at most 100 times
   * at once.
   */
  Token fetch() throws Exception;

  /** A file that is read again for each session and each call. */
  static TokenSource file(Path path) {
    return () -> Token.of(new String(Pem.readFile(path), StandardCharsets.UTF_8));
  }
}
