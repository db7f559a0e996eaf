import { EVERY_NAME } from '../../src/base/names';
import type { NameReader } from '../../src/autocomplete/autocomplete';

/** The caller of a server without authentication. */
export const ANYBODY: NameReader = { identity: '', cancelled: false, ...EVERY_NAME };
