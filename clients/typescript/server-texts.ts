/** The names of this package for the fields and the advice in the texts of a server. Longer phrases first. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['repeat the call with the same request_id', 'call again'],
  [' with a new request_id', ''],
  ['use a new request_id', 'call again'],
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

/** The commands of a session before a field, names in quotes, which stay, and what has another name here. */
const PARTS = new RegExp(
  `"(?:[^"\\\\]|\\\\.)*"|\\b(?:acquire_lock|acquire_permits|start)\\.(?=[a-z_]+\\b)|${[...NAMES.keys()]
    .map((name) => (name.startsWith(' ') ? `${name}\\b` : `\\b${name}\\b`))
    .join('|')}`,
  'g',
);

/** The text of a server, with the names of the options of this package. */
export function ownNames(text: string): string {
  return text.replace(PARTS, (part) => (part.startsWith('"') ? part : (NAMES.get(part) ?? '')));
}
