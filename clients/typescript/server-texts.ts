/** The names of this package for the fields and the advice in the texts of a server. Longer phrases first. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['repeat the call with the same request_id', 'call again'],
  ['use a new request_id', 'call again'],
  ['open a second session with another client_id', 'use a second client'],
  ['update.metadata_update.entries', 'metadata'],
  ['wait_timeout', 'wait'],
  ['permit_count', 'permits'],
  ['initial_limit', 'limit'],
  ['expected_limit', 'expectedLimit'],
  ['holder_id', 'holderId'],
  ['page_size', 'limit'],
  ['match_kinds', 'matchKinds'],
  ['recents_list', 'recents'],
  ['max_staleness', 'maxStaleness'],
  ['entry_ids', 'ids'],
  ['entry_id', 'id'],
  ['typo_matching', 'typos'],
]);

/** Names in quotes, which stay. */
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
/** The commands before a field. */
const COMMANDS = '\\b(?:acquire_lock|acquire_permits|start|suggest)\\.(?=[a-z_]+\\b)';
/** The ids that this package itself repeats or renews. */
const IDS = ' with (?:a new request_id|the same lease_id|request_id [0-9A-Za-z-]+)\\b';
const PARTS = new RegExp(
  [QUOTED, COMMANDS, IDS, ...[...NAMES.keys()].map((name) => `\\b${name.replaceAll('.', '\\.')}\\b`)].join(
    '|',
  ),
  'g',
);

/** The text of a server, with the names of the options of this package. */
export function ownNames(text: string): string {
  return text.replace(PARTS, (part) => (part.startsWith('"') ? part : (NAMES.get(part) ?? '')));
}
