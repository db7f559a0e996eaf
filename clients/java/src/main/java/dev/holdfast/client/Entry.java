package dev.holdfast.client;

import com.google.protobuf.ByteString;
import java.util.List;

/** An entry of a dictionary. Immutable: each option returns a copy. */
public final class Entry {
  final dev.holdfast.v1.Entry message;

  Entry(dev.holdfast.v1.Entry message) {
    this.message = message;
  }

  /**
   * @param id 1 to 512 bytes
   * @param text the text that is shown and searched: 1 to 512 bytes
   */
  public static Entry of(String id, String text) {
    return new Entry(
        dev.holdfast.v1.Entry.newBuilder()
            .setEntryId(Texts.checked(id, "id"))
            .setText(Texts.checked(text, "text"))
            .build());
  }

  /** Other texts that find the entry. */
  public Entry aliases(String... aliases) {
    for (String alias : aliases) {
      Texts.checked(alias, "aliases");
    }
    return new Entry(message.toBuilder().clearAliases().addAllAliases(List.of(aliases)).build());
  }

  /** A greater weight ranks earlier. Default: 0. */
  public Entry weight(long weight) {
    return new Entry(message.toBuilder().setWeight(weight).build());
  }

  /** Data for the program that shows the entry: at most 1 KiB. */
  public Entry payload(byte[] payload) {
    return new Entry(message.toBuilder().setPayload(ByteString.copyFrom(payload)).build());
  }

  public String id() {
    return message.getEntryId();
  }

  public String text() {
    return message.getText();
  }

  public List<String> aliases() {
    return message.getAliasesList();
  }

  public long weight() {
    return message.getWeight();
  }

  public byte[] payload() {
    return message.getPayload().toByteArray();
  }

  @Override
  public String toString() {
    return "Entry[id=" + id() + ", text=" + text() + "]";
  }
}
