package dev.holdfast.client;

/** Size and state of a dictionary. */
public final class DictionaryInfo {
  private final dev.holdfast.v1.Dictionary message;

  DictionaryInfo(dev.holdfast.v1.Dictionary message) {
    this.message = message;
  }

  public String name() {
    return message.getName();
  }

  public long entryCount() {
    return message.getEntryCount();
  }

  /** The memory in the store. */
  public long memoryBytes() {
    return message.getMemoryBytes();
  }

  /** Rises with each import. */
  public long generation() {
    return message.getGeneration();
  }

  /** The number of imports in progress. */
  public int importCount() {
    return message.getImportsCount();
  }

  /** Whether the answering server has loaded the dictionary. */
  public boolean isLoaded() {
    return message.getLoadState() == dev.holdfast.v1.LoadState.LOAD_STATE_READY;
  }
}
