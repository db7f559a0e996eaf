package dev.holdfast.client;

/** An entry with the count of its selections. */
public final class ListedEntry {
  private final Entry entry;
  private final long selectionCount;

  ListedEntry(dev.holdfast.v1.ListedEntry message) {
    entry = new Entry(message.getEntry());
    selectionCount = message.getSelectionCount();
  }

  public Entry entry() {
    return entry;
  }

  public long selectionCount() {
    return selectionCount;
  }
}
