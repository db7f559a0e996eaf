import type { Mutant } from './mutants';

/** Mistakes of a client, which the rule of the contract is there to prevent. */
export const clientMutants = {
  'deadline-from-the-receipt': {
    about: 'a client counts the offset from when the answer came',
    patches: [
      {
        file: 'test/faults/held.js',
        find: 'return Math.min(t0 + expireOffsetUs, at + ttlUs);',
        replace: 'return at + expireOffsetUs;',
      },
    ],
    faults: [],
    caughtBy: ['truthful_offset', 'exclusion'],
  },
} as const satisfies Record<string, Mutant>;
