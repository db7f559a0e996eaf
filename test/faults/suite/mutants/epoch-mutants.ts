import type { Mutant } from './mutants';
import type { Patch } from '../../../support/build-variant';
import { luaPatch } from './patch';

const tellWhatIsInDoubt: Patch = {
  file: 'src/redis/epochs/epochs.js',
  find: 'isOnTime(time, sentAt) {',
  replace: 'isOnTime(time, sentAt) {\n        return true;',
};

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
    about:
      "neither a script nor the reader of its reply looks whether it is late by the store's clock, which may have been set forward",
    // Alone it would not be seen: the reply of what ran late shows the step, and is not told.
    patches: [luaPatch('if now > not_after then', 'if false then'), tellWhatIsInDoubt],
    faults: ['store-clock-stepped'],
    play: { canStepClocks: true },
    caughtBy: ['exclusion', 'over_issue'],
  },
  'doubt-ignored': {
    about: "a grant is told whose reply shows that the store's clock was set forward",
    patches: [
      tellWhatIsInDoubt,
      // Else a single step would take most of a round. Such a step ends nothing that is believed for longer than this.
      luaPatch(
        'til, shift = math.max(til or 0, now + longest * 1000)',
        "til, shift = math.max(til or 0, now + (reason == 'clock' and 1500 or longest) * 1000)",
      ),
      luaPatch(
        'if til then til = math.max(til, since + longest * 1000) end',
        "if til and cause ~= 'clock' then til = math.max(til, since + longest * 1000) end",
      ),
    ],
    faults: ['store-clock-nudged'],
    play: { canStepClocks: true },
    caughtBy: ['exclusion', 'over_issue'],
  },
} as const satisfies Record<string, Mutant>;
