package dev.holdfast.client;

import com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;

/** A text for a list of recents. Immutable: each method returns a copy. */
public final class Recent {
  final String text;
  final String entryId;
  final ByteString payload;
  final @Nullable Integer capacity;

  private Recent(String text, String entryId, ByteString payload, @Nullable Integer capacity) {
    this.text = text;
    this.entryId = entryId;
    this.payload = payload;
    this.capacity = capacity;
  }

  /**
   * @param text 1 to 512 bytes
   */
  public static Recent of(String text) {
    return new Recent(Texts.checked(text, "text"), "", ByteString.EMPTY, null);
  }

  /** The entry that the text stands for. Default: none. */
  public Recent entryId(String entryId) {
    return new Recent(text, Texts.checked(entryId, "entryId"), payload, capacity);
  }

  /** Data for the program that shows the text: at most 1 KiB. */
  public Recent payload(byte[] payload) {
    return new Recent(text, entryId, ByteString.copyFrom(payload), capacity);
  }

  /** The number of texts that the list keeps from now on. Default: 100. Range: 1 to 1000. */
  public Recent capacity(int capacity) {
    return new Recent(text, entryId, payload, capacity);
  }
}
