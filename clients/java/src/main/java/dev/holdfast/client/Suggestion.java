package dev.holdfast.client;

import java.util.List;
import java.util.stream.Collectors;

/** One suggestion for a query. */
public final class Suggestion {
  /** A part of the text. */
  public static final class Segment {
    private final String text;
    private final boolean isMatched;

    Segment(String text, boolean isMatched) {
      this.text = text;
      this.isMatched = isMatched;
    }

    public String text() {
      return text;
    }

    /** Whether the query matches this part. */
    public boolean isMatched() {
      return isMatched;
    }
  }

  private final dev.holdfast.v1.Suggestion message;

  private Suggestion(dev.holdfast.v1.Suggestion message) {
    this.message = message;
  }

  static List<Suggestion> listOf(List<dev.holdfast.v1.Suggestion> messages) {
    return messages.stream().map(Suggestion::new).collect(Collectors.toUnmodifiableList());
  }

  /** The id of the entry. Empty for a recent without an entry. */
  public String id() {
    return message.getEntryId();
  }

  public String text() {
    return message.getText();
  }

  /** The parts of the text in order. */
  public List<Segment> segments() {
    return message.getSegmentsList().stream()
        .map(one -> new Segment(one.getText(), one.getMatched()))
        .collect(Collectors.toUnmodifiableList());
  }

  /** The data of the entry, for the program that shows it. */
  public byte[] payload() {
    return message.getPayload().toByteArray();
  }

  public MatchKind matchKind() {
    return MatchKind.of(message.getMatchKind());
  }

  public long score() {
    return message.getScore();
  }

  /** Whether the text is from the caller's list of recents. */
  public boolean isRecent() {
    return message.getRecent();
  }

  @Override
  public String toString() {
    return "Suggestion[id=" + id() + ", text=" + text() + "]";
  }
}
