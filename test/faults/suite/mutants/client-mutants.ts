import type { Mutant } from './mutants';

/** Mistakes of a client that the contract's deadline rule prevents. */
export const clientMutants = {
  'deadline-from-the-receipt': {
    about: 'a client counts the offset from the receipt of the answer',
    patches: [
      {
        file: 'test/faults/held.ts',
        find: 'return Math.min(t0 + expireOffsetUs, at + ttlUs);',
        replace: 'return at + expireOffsetUs;',
      },
    ],
    faults: [],
    caughtBy: ['truthful_offset', 'exclusion'],
  },
} as const satisfies Record<string, Mutant>;
