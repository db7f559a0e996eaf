package dev.holdfast.client;

/** A request for permits of a semaphore. */
public final class PermitsRequest extends AcquireRequest<PermitsRequest> {
  PermitsRequest(Client client, Wanted wanted) {
    super(client, wanted);
  }

  @Override
  PermitsRequest with(Client client, Wanted wanted) {
    return new PermitsRequest(client, wanted);
  }

  /** The limit of a semaphore that does not exist yet. An existing semaphore keeps its limit. */
  public PermitsRequest limit(int limit) {
    return with(copy -> copy.limit = limit);
  }
}
