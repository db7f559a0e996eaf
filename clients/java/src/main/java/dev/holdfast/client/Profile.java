package dev.holdfast.client;

import dev.holdfast.v1.AccentHandling;
import dev.holdfast.v1.TypoMatching;

/**
 * How a dictionary matches. Fixed when the dictionary is created. Immutable: each method returns a
 * copy.
 */
public final class Profile {
  /** Keeps accents, and matches typos. */
  public static final Profile DEFAULTS = new Profile(false, true);

  private final boolean areAccentsDropped;
  private final boolean areTyposMatched;

  private Profile(boolean areAccentsDropped, boolean areTyposMatched) {
    this.areAccentsDropped = areAccentsDropped;
    this.areTyposMatched = areTyposMatched;
  }

  /** A query without accents finds a text with accents. */
  public Profile withoutAccents() {
    return new Profile(true, areTyposMatched);
  }

  /** Queries with typos find nothing. */
  public Profile withoutTypos() {
    return new Profile(areAccentsDropped, false);
  }

  dev.holdfast.v1.Profile message() {
    return dev.holdfast.v1.Profile.newBuilder()
        .setAccents(
            areAccentsDropped
                ? AccentHandling.ACCENT_HANDLING_DROPPED
                : AccentHandling.ACCENT_HANDLING_KEPT)
        .setTypoMatching(
            areTyposMatched ? TypoMatching.TYPO_MATCHING_ON : TypoMatching.TYPO_MATCHING_OFF)
        .build();
  }
}
