package dev.holdfast.client;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Batches of entries that fit into a message. At most one batch is in memory. */
final class EntryBatches {
  private static final int MAX_ENTRIES = Numbers.Entries.MAX_ENTRIES_IN_MESSAGE;
  private static final int MAX_BYTES = Numbers.Entries.MAX_ENTRY_BYTES_IN_MESSAGE;

  private final Iterator<Entry> entries;
  private @Nullable Entry ahead;

  EntryBatches(Iterator<Entry> entries) {
    this.entries = entries;
  }

  /** The next batch. Empty after the last one. */
  List<dev.holdfast.v1.Entry> next() {
    List<dev.holdfast.v1.Entry> batch = new ArrayList<>();
    int bytes = 0;
    while (batch.size() < MAX_ENTRIES && (ahead != null || entries.hasNext())) {
      Entry entry = ahead != null ? ahead : entries.next();
      ahead = null;
      bytes += entry.message.getSerializedSize() + 8;
      if (!batch.isEmpty() && bytes > MAX_BYTES) {
        ahead = entry;
        break;
      }
      batch.add(entry.message);
    }
    return batch;
  }
}
