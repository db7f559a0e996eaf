import type { HoldfastError } from '../errors';
import type { Logger } from '../telemetry';
import type { Lease } from './lease';

/** What happens to the sessions of a client, for its log. */
export type SessionNews =
  | { readonly kind: 'started' | 'leaving'; readonly address: string }
  | { readonly kind: 'ended'; readonly address: string; readonly error: HoldfastError }
  | { readonly kind: 'attached'; readonly address: string; readonly lease: Lease }
  | { readonly kind: 'renewalFailed' | 'lost'; readonly lease: Lease };

/** Writes the news as messages without secrets. */
export function newsLog(logger: Logger | undefined): (news: SessionNews) => void {
  if (logger === undefined) return () => undefined;
  return (news) => {
    switch (news.kind) {
      case 'started':
        return logger.info(`holdfast: a session with ${news.address} has started`);
      case 'leaving':
        return logger.info(`holdfast: ${news.address} asks to leave, the next session follows`);
      case 'ended':
        return logger.warn(
          `holdfast: the session with ${news.address || 'no server'} has ended: ${news.error.message}`,
        );
      case 'attached':
        return logger.debug(`holdfast: ${news.address} renews the lease of ${quoted(news.lease)}`);
      case 'renewalFailed':
        return logger.warn(`holdfast: a renewal of the lease of ${quoted(news.lease)} has failed`);
      case 'lost':
        return logger.error(`holdfast: ${news.lease.loss?.message}`);
    }
  };
}

/** JSON escapes control characters. */
function quoted({ name }: Lease): string {
  return JSON.stringify(name);
}
