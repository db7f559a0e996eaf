import { statusSpec, type StatusSpec } from './status-spec';

/** What happens to a request instead of the normal course. */
export type Act =
  | { readonly kind: 'fail'; readonly status: StatusSpec }
  | { readonly kind: 'drop' }
  | { readonly kind: 'loseAnswer' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'end'; readonly status: StatusSpec; readonly after: boolean }
  | { readonly kind: 'cut'; readonly after: boolean }
  | { readonly kind: 'ended'; readonly cause: string | number };

interface Takeover {
  readonly kind: string;
  readonly name: string | undefined;
  readonly act: Act;
  times: number;
  skip: number;
}

const COMMON = new Set(['kind', 'name', 'times', 'skip']);

const ACTS: Readonly<Record<string, (value: unknown) => Act>> = {
  fail: (value) => ({ kind: 'fail', status: statusSpec(value) }),
  drop: () => ({ kind: 'drop' }),
  lose_answer: () => ({ kind: 'loseAnswer' }),
  delay_ms: (value) => ({ kind: 'delay', ms: Number(value) }),
  end: (value) => ({ kind: 'end', status: statusSpec(value), after: false }),
  end_after: (value) => ({ kind: 'end', status: statusSpec(value), after: true }),
  cut: () => ({ kind: 'cut', after: false }),
  cut_after: () => ({ kind: 'cut', after: true }),
  ended: (value) => ({ kind: 'ended', cause: value as string | number }),
};

/** Reads the step `on`. Throws an Error with a text for the author of the case. */
export function takeover(spec: Readonly<Record<string, unknown>>): Takeover {
  const acts = Object.keys(spec).filter((key) => !COMMON.has(key));
  const [name = '', second] = acts;
  const read = ACTS[name];
  if (!read || second !== undefined) throw new Error(`"on" needs one act of ${Object.keys(ACTS).join(', ')}`);
  if (typeof spec['kind'] !== 'string') throw new Error('"on" needs the kind of the request');
  return {
    kind: spec['kind'],
    name: spec['name'] as string | undefined,
    act: read(spec[name]),
    times: Number(spec['times'] ?? 1),
    skip: Number(spec['skip'] ?? 0),
  };
}

/** The requests that a case has taken over, the earliest rule first. */
export class Takeovers {
  private readonly list: Takeover[] = [];

  add(one: Takeover): void {
    this.list.push(one);
  }

  /** The act for this request. Undefined: the normal course. */
  next(kind: string, name: string): Act | undefined {
    for (const one of this.list) {
      if (one.kind !== kind || one.times === 0) continue;
      if (one.name !== undefined && one.name !== name) continue;
      if (one.skip > 0) {
        one.skip -= 1;
        continue;
      }
      one.times -= 1;
      return one.act;
    }
    return undefined;
  }
}
