import { EVERY_NAME } from '../../src/base/readable-names';
import type { NameReader } from '../../src/autocomplete/autocomplete-engine';

/** The caller of a server without authentication. */
export const ANYBODY: NameReader = { identity: '', cancelled: false, ...EVERY_NAME };
