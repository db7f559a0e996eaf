import type { Mutant } from './mutants';
import { luaPatch } from './patch';

/** Mistakes about a store that has forgotten, or whose clock was set. */
export const epochMutants = {
  'no-epoch': {
    about:
      'a script does not look whether the store is the one that its server knows: it grants what that has forgotten',
    patches: [luaPatch('if epoch == expected then', 'if true then')],
    faults: ['store-flushed'],
    caughtBy: ['exclusion', 'over_issue'],
  },
  'no-quarantine': {
    about: 'the epoch of a store that may have forgotten is put in force at once, without a pause',
    patches: [luaPatch('if til and til > now then', 'if false then')],
    faults: ['stale-replica-promoted', 'store-flushed'],
    play: { topology: 'sentinel' },
    caughtBy: ['exclusion', 'over_issue'],
  },
  'no-not-after': {
    about: "a script does not look whether it is late by the store's clock, which may have been set forward",
    patches: [luaPatch('if now > not_after then', 'if false then')],
    faults: ['store-clock-stepped'],
    play: { canStepClocks: true },
    caughtBy: ['exclusion', 'over_issue'],
  },
} as const satisfies Record<string, Mutant>;
