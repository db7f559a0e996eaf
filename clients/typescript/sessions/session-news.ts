import { textOf, type HoldfastError } from '../errors';
import type { Logger } from '../telemetry';
import type { Lease } from './lease';

/** What happens to the sessions of a client, for its log. */
export type SessionNews =
  | { readonly kind: 'started' | 'leaving'; readonly address: string }
  | { readonly kind: 'ended'; readonly address: string; readonly error: HoldfastError }
  | { readonly kind: 'attached'; readonly address: string; readonly lease: Lease }
  | { readonly kind: 'renewalFailed' | 'lost'; readonly lease: Lease }
  | {
      readonly kind: 'otherLimit';
      readonly name: string;
      readonly limit: number;
      readonly expectedLimit: number;
    }
  | { readonly kind: 'forgotten'; readonly name: string }
  | { readonly kind: 'callbackFailed'; readonly name: string; readonly error: string };

/**
 * Writes the news as messages without secrets. An error of the logger breaks nothing: the process gets one warning, and the
 * log goes on. Without a logger, a mistake in the caller's program is a warning of the process.
 */
export function newsLog(logger: Logger = SILENT): (news: SessionNews) => void {
  let hasWarned = false;
  const failed = (error: unknown): void => {
    if (hasWarned) return;
    hasWarned = true;
    process.emitWarning(`the logger of the Holdfast client fails: ${textOf(error)}`);
  };
  return (news) => {
    try {
      // A logger may give promises, although the type has none.
      const given: unknown = write(logger, news);
      if (given instanceof Promise) given.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

function write(logger: Logger, news: SessionNews): void {
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
      return logger.debug(`holdfast: ${news.address} renews the lease of ${quoted(news.lease.name)}`);
    case 'renewalFailed':
      return logger.warn(`holdfast: a renewal of the lease of ${quoted(news.lease.name)} has failed`);
    case 'lost':
      return logger.warn(`holdfast: ${news.lease.loss?.message}`);
    case 'callbackFailed':
      return mistake(logger, 'error', `holdfast: onQueued of ${quoted(news.name)} has failed: ${news.error}`);
    case 'otherLimit':
      return mistake(
        logger,
        'warn',
        `holdfast: the semaphore ${quoted(news.name)} has the limit ${news.limit}, not ${news.expectedLimit}: ` +
          'the option limit does not change it, and exactLimit would have refused the permits',
      );
    case 'forgotten':
      return mistake(
        logger,
        'warn',
        `holdfast: the lease of ${quoted(news.name)} was forgotten without a release: the client renews it until it is closed`,
      );
  }
}

function mistake(logger: Logger, level: 'warn' | 'error', text: string): void {
  if (logger === SILENT) process.emitWarning(text);
  else logger[level](text);
}

/** JSON escapes control characters. */
function quoted(name: string): string {
  return JSON.stringify(name);
}

const nothing = (): void => undefined;
const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
