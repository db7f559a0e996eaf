import type { Stored } from './permits-fixture';

const setOfState = { W: 'queue', D: 'detached', O: 'offers', H: 'ends', E: 'ended' } as const;

/** What must hold for what Redis has of a resource after any command, whatever it was; empty if it all holds. */
export function brokenInvariants({ numbers, records, sets }: Stored): string[] {
  const broken: string[] = [];
  for (const [id, record] of Object.entries(records)) {
    const home = setOfState[record.s as keyof typeof setOfState];
    const found = Object.values(setOfState).filter((set) => sets[set].some((member) => member.id === id));
    if (found.length !== 1 || found[0] !== home) {
      broken.push(`request ${id} in state ${record.s} is in ${found.join(' and ') || 'no set'}`);
    }
  }
  for (const set of Object.values(setOfState)) {
    for (const { id } of sets[set]) if (!records[id]) broken.push(`member ${id} of ${set} has no record`);
  }
  const held = [...sets.ends, ...sets.offers].reduce((sum, { id }) => sum + Number(records[id]?.n ?? 0), 0);
  const used = Number(numbers.used ?? 0);
  if (used !== held) broken.push(`used is ${used}, but the holders have ${held}`);
  for (const { id, score } of sets.queue) {
    if (records[id]?.t !== String(score)) broken.push(`waiter ${id} is at ${score}, not at its ticket`);
  }
  return broken;
}

/** What must hold between what Redis had before a command and has after it, `passedUs` of time having been moved. */
export function brokenTransitions(before: Stored, after: Stored, passedUs: number): string[] {
  const broken: string[] = [];
  const last = Number(before.numbers.token ?? 0);
  const lowestPlace = after.sets.queue[0]?.score ?? Infinity;
  const tokens = new Set<string>();
  const [used, limit] = [Number(after.numbers.used ?? 0), Number(after.numbers.limit ?? 0)];
  for (const { id } of [...after.sets.ends, ...after.sets.offers]) {
    const record = after.records[id];
    if (!record) continue;
    // A limit that was lowered takes nothing from holders, but from then on no grant is over it.
    const holdsNow = record.s === 'H' && before.records[id]?.s !== 'H';
    if (used > limit && (holdsNow || before.records[id]?.f !== record.f)) {
      broken.push(`${id} was granted, and ${used} are out of ${limit}`);
    }
    if (tokens.has(record.f ?? '')) broken.push(`two holders have the token ${record.f}`);
    tokens.add(record.f ?? '');
    if (before.records[id]?.f === record.f) continue;
    if (Number(record.f) <= last) broken.push(`${id} was granted with ${record.f}, after ${last}`);
    if (Number(record.t) > lowestPlace) broken.push(`${id} was granted before who waits at ${lowestPlace}`);
  }
  for (const { id, score } of before.sets.ends) {
    const now = after.sets.ends.find((member) => member.id === id);
    if (now && now.score < score - passedUs) broken.push(`the lease of ${id} was shortened`);
  }
  // What is forgotten altogether starts again at the clock, which is above all that was.
  const known = Object.keys(after.numbers).length > 0;
  for (const field of known ? (['token', 'ticket'] as const) : []) {
    if (Number(after.numbers[field] ?? 0) < Number(before.numbers[field] ?? 0))
      broken.push(`the last ${field} fell`);
  }
  return broken;
}
