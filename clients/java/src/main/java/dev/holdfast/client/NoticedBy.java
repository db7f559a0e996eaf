package dev.holdfast.client;

/** Who noticed that a lease is lost. */
public enum NoticedBy {
  /** This process, by its own clock. */
  CLIENT,
  /** The server. */
  SERVER
}
