/** The flags for the names that the client has for the fields of the contract, and for the fields that it does not know. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ['all_holders', '--all'],
  ['expectedLimit', '--expected'],
  ['fencing_token', '--token'],
  ['holderId', '--holder'],
  ['name_prefix', 'the prefix'],
  ['leave expectedLimit unset', 'leave out --expected'],
  ['or set force', 'or give --force'],
  ['raise wait', 'raise --wait'],
  ['set its limit, or acquire with limit', 'create it with "holdfast semaphore set-limit"'],
  ['waiter_position', '--waiter'],
]);
/** Names with a common meaning are a field only where a server says what is wrong with it: at the beginning, and after ";". */
const LEADING: ReadonlyMap<string, string> = new Map([
  ['capacity', '--capacity'],
  ['force', '--force'],
  ['id', '--entry-id'],
  ['identity', '--identity'],
  ['limit', '--limit'],
  ['permits', '--permits'],
  ['reason', '--reason'],
  ['recents', '--recents'],
  ['ttl', '--ttl'],
  ['value', '--value'],
  ['wait', '--wait'],
]);
/** Names of locks and labels of holders are quoted, and stay. Longer phrases come first. */
const PARTS = new RegExp(
  `"(?:[^"\\\\]|\\\\.)*"|\\b(?:${[...FLAGS.keys()].sort((a, b) => b.length - a.length).join('|')})\\b`,
  'g',
);

/** The text of an error of the client, with the flags of this program in place of the options of the client. */
export function inWordsOfFlags(text: string): string {
  return text
    .replace(PARTS, (part) => FLAGS.get(part) ?? part)
    .replace('send the metadata "authorization: Bearer <token>"', 'give --token-file')
    .replace(/(?<=^|; )[a-z]+(?= (?:is|must|has) )/g, (name) => LEADING.get(name) ?? name);
}
