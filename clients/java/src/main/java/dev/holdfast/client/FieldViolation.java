package dev.holdfast.client;

import java.io.Serializable;

/** One invalid field of a request. */
public final class FieldViolation implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String field;
  private final String description;

  FieldViolation(String field, String description) {
    this.field = field;
    this.description = description;
  }

  /** The path of the field, spelled as in the proto files, for example {@code acquire_lock.ttl}. */
  public String field() {
    return field;
  }

  /** A text for people. */
  public String description() {
    return description;
  }

  @Override
  public String toString() {
    return field + ": " + description;
  }
}
