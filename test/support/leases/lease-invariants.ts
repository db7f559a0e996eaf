import type { Stored } from './lease-stored';

const setOfState = {
  waiting: 'queue',
  detached: 'detached',
  offered: 'offers',
  held: 'ends',
  ended: 'ended',
} as const;

/** Lists the violated invariants of a resource's stored state. The invariants hold after every command. */
export function brokenInvariants({ numbers, records, sets, isIndexed }: Stored): string[] {
  const broken: string[] = [];
  for (const [id, record] of Object.entries(records)) {
    const home = setOfState[record.state];
    const found = Object.values(setOfState).filter((set) => sets[set].some((member) => member.id === id));
    if (found.length !== 1 || found[0] !== home) {
      broken.push(`request ${id} in state ${record.state} is in ${found.join(' and ') || 'no set'}`);
    }
  }
  for (const set of Object.values(setOfState)) {
    for (const { id } of sets[set]) if (!records[id]) broken.push(`member ${id} of ${set} has no record`);
  }
  for (const set of ['ends', 'offers', 'queue', 'detached'] as const) {
    const count = Number(numbers[set] ?? 0);
    if (count !== sets[set].length)
      broken.push(`the head counts ${count} in ${set}, which has ${sets[set].length}`);
  }
  const places = sets.ends.length + sets.offers.length + sets.queue.length + sets.detached.length;
  if (places > 0 && !isIndexed) broken.push('the name is in use, but not in the index of names');
  if (numbers.isListed === '1' && !isIndexed) broken.push('only the head says that the name is in the index');
  const held = [...sets.ends, ...sets.offers].reduce(
    (sum, { id }) => sum + Number(records[id]?.permits ?? 0),
    0,
  );
  const used = Number(numbers.used ?? 0);
  if (used !== held) broken.push(`used is ${used}, but the holders and offers take ${held}`);
  for (const { id, score } of sets.queue) {
    if (records[id]?.ticket !== String(score))
      broken.push(`waiter ${id} has the score ${score}, which is not its ticket`);
  }
  return broken;
}

/** Lists the violated invariants of a change between two stored states, which `passedUs` separate. */
export function brokenTransitions(before: Stored, after: Stored, passedUs: number): string[] {
  const broken: string[] = [];
  const last = Number(before.numbers.token ?? 0);
  const lowestPlace = after.sets.queue[0]?.score ?? Infinity;
  const tokens = new Set<string>();
  const [used, limit] = [Number(after.numbers.used ?? 0), Number(after.numbers.limit ?? 0)];
  for (const { id } of [...after.sets.ends, ...after.sets.offers]) {
    const record = after.records[id];
    if (!record) continue;
    // A lower limit takes no permits from holders, but no later grant may exceed the limit.
    const holdsNow = record.state === 'held' && before.records[id]?.state !== 'held';
    if (used > limit && (holdsNow || before.records[id]?.fencingToken !== record.fencingToken)) {
      broken.push(`${id} was granted, and ${used} are out of ${limit}`);
    }
    if (tokens.has(record.fencingToken ?? ''))
      broken.push(`two holders have the token ${record.fencingToken}`);
    tokens.add(record.fencingToken ?? '');
    if (before.records[id]?.fencingToken === record.fencingToken) continue;
    if (Number(record.fencingToken) <= last)
      broken.push(`${id} was granted with ${record.fencingToken}, after ${last}`);
    if (Number(record.ticket) > lowestPlace)
      broken.push(`${id} was granted before the waiter at ${lowestPlace}`);
  }
  for (const { id, score } of before.sets.ends) {
    const now = after.sets.ends.find((member) => member.id === id);
    if (now && now.score < score - passedUs) broken.push(`the lease of ${id} was shortened`);
  }
  // The tokens and tickets of a forgotten resource start again at the clock, above all earlier values.
  const known = Object.keys(after.numbers).length > 0;
  for (const field of known ? (['token', 'ticket'] as const) : []) {
    if (Number(after.numbers[field] ?? 0) < Number(before.numbers[field] ?? 0))
      broken.push(`the last ${field} fell`);
  }
  return broken;
}
