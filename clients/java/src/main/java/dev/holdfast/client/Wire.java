package dev.holdfast.client;

import dev.holdfast.v1.OpenSessionRequest;
import dev.holdfast.v1.OpenSessionResponse;

/** One stream of OpenSession, on a connection of its own. All methods are called in the loop. */
interface Wire {
  /** Hears what the stream brings. All methods are called in the loop. */
  interface Listener {
    void response(OpenSessionResponse response);

    /** The stream takes another message. */
    void ready();

    /** Called once, if the stream was not destroyed before. */
    void ended(HoldfastException error);
  }

  /** Opens streams. */
  interface Opener {
    Wire open(Server server, Opening opening, Loop loop, Listener listener);
  }

  /**
   * Whether the stream has taken the messages before. A message that is sent earlier lies in
   * memory.
   */
  boolean isReady();

  void send(OpenSessionRequest request);

  /** Ends the stream in order. */
  void halfClose();

  /** Ends stream and connection. */
  void destroy();
}
