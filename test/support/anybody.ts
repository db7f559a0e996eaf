import type { NameReader } from '../../src/engine/autocomplete/autocomplete-engine';

/** The caller of a server without authentication. */
export const ANYBODY: NameReader = { identity: '', mayRead: () => true };
