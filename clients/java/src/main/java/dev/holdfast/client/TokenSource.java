package dev.holdfast.client;

import java.nio.file.Files;
import java.nio.file.Path;

/** Gives a bearer token for each session and each call. */
@FunctionalInterface
public interface TokenSource {
  /**
   * May block. For a session it is called on a thread of the client, which is interrupted after 10
   * s. For a call it is called on the calling thread.
   */
  Token fetch() throws Exception;

  /** A file that is read again for each session and each call. */
  static TokenSource file(Path path) {
    return () -> Token.of(Files.readString(path).trim());
  }
}
