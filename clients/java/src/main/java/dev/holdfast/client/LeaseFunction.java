package dev.holdfast.client;

import org.jspecify.annotations.Nullable;

/**
 * Work under a lease, with a result.
 *
 * @param <T> the result
 * @param <X> the checked exception of the work
 */
@FunctionalInterface
public interface LeaseFunction<T extends @Nullable Object, X extends Exception> {
  /** The calling thread is interrupted if the lease is lost. */
  T apply(Lease lease) throws X;
}
