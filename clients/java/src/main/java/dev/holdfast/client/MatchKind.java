package dev.holdfast.client;

/** How a query matches a text, in the order of rank. */
public enum MatchKind {
  EXACT,
  PREFIX,
  WORD_PREFIX,
  SUFFIX,
  CONTAINS,
  TYPO,
  /** A newer server matched in a way that this client does not know. */
  UNRECOGNIZED;

  static MatchKind of(dev.holdfast.v1.MatchKind code) {
    for (MatchKind kind : values()) {
      if (code.name().equals("MATCH_KIND_" + kind.name())) {
        return kind;
      }
    }
    return UNRECOGNIZED;
  }

  dev.holdfast.v1.MatchKind code() {
    if (this == UNRECOGNIZED) {
      throw new IllegalArgumentException("UNRECOGNIZED cannot be wanted");
    }
    return dev.holdfast.v1.MatchKind.valueOf("MATCH_KIND_" + name());
  }
}
