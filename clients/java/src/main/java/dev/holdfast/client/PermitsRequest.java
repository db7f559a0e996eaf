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

  /**
   * The limit of a semaphore that does not exist yet. An existing semaphore keeps its limit, and
   * the log tells once of each other limit of a name.
   */
  public PermitsRequest limit(int limit) {
    return with(copy -> copy.limit = limit);
  }

  /**
   * Demands the {@link #limit}: if the semaphore has another one when the permits are asked for, a
   * {@link LimitMismatchException} is thrown. Needs the permission {@code read}, otherwise a {@link
   * NotAllowedException} is thrown. A later change of the limit is not noticed. Default: false.
   *
   * @throws IllegalArgumentException at the acquire, if there is no limit
   */
  public PermitsRequest exactLimit(boolean isExact) {
    return with(copy -> copy.isExact = isExact);
  }
}
