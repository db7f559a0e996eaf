package dev.holdfast.client;

/** The times of a response, on the own clock. */
final class Receipt {
  /** The send of the heartbeat that the response names. */
  final long sentAt;

  final long receivedAt;

  Receipt(long sentAt, long receivedAt) {
    this.sentAt = sentAt;
    this.receivedAt = receivedAt;
  }
}
