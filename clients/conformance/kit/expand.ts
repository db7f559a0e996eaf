import type { Values } from './case-file';
import { COMMANDS, DEFAULT_CLIENT } from './commands';

interface Surroundings {
  /** The servers of the case, in their order. */
  readonly servers: readonly string[];
  /** The names of the DNS. */
  readonly names: readonly string[];
  readonly address: (server: string) => string;
  readonly folder: string;
  /** The id of an earlier command. */
  readonly idOf: (name: unknown) => number;
}

/** Larger than a message of a session. */
const HUGE = 'x'.repeat(2_000_000);

/** Fills in what a case leaves out or names in its own words. */
export function expandCommand(verb: string, given: Values, around: Surroundings): Values {
  const fields: Record<string, unknown> = { ...(withTexts(given, around.folder) as Values) };
  if (COMMANDS[verb]?.includes('client')) fields['client'] ??= DEFAULT_CLIENT;
  if (verb === 'connect') {
    const named = (fields['addresses'] ?? around.servers) as string[];
    const isKnown = (name: string): boolean => around.servers.includes(name) || around.names.includes(name);
    fields['addresses'] = named.map((name) => (isKnown(name) ? around.address(name) : name));
  }
  if (verb === 'cancel' || verb === 'end_work') fields['of'] = around.idOf(given['of']);
  return fields;
}

function withTexts(value: unknown, folder: string): unknown {
  if (typeof value === 'string') return value.replaceAll('{folder}', folder).replaceAll('{huge}', HUGE);
  if (Array.isArray(value)) return value.map((one) => withTexts(one, folder));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withTexts(one, folder)]));
}
