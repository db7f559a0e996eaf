package dev.holdfast.client;

/**
 * Work under a lease.
 *
 * @param <X> the checked exception of the work
 */
@FunctionalInterface
public interface LeaseBody<X extends Exception> {
  /** The calling thread is interrupted if the lease is lost. */
  void run(Lease lease) throws X;
}
