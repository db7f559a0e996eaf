import type { Mutant } from './mutants';
import type { Patch } from '../../../support/build-variant';
import { luaPatch, scriptPatch } from './patch';

const SET_PAUSE = 'since, ends_at, shift = now, now + longest * 1000, math.max(shift or 0, set_forward)';

const tellWhatIsInDoubt: Patch = {
  file: 'src/redis/epochs/epochs.ts',
  find: "if (reply.word === 'GRANTED' || reply.news.some(isGrant)) {",
  replace: 'if (false) {',
};

/** Mistakes in the handling of a store that lost data or had a clock step. */
export const epochMutants = {
  'no-epoch': {
    about: 'a script does not check the epoch, so it grants although the store has lost data',
    patches: [...luaPatch('if epoch == expected and now <= not_after then', 'if now <= not_after then')],
    faults: ['store-flushed'],
    caughtBy: ['exclusion', 'over_issue'],
  },
  'no-quarantine': {
    about: 'the epoch of a store that may have lost data is adopted without a quarantine',
    patches: [scriptPatch(SET_PAUSE, '')],
    faults: ['stale-replica-promoted', 'store-flushed'],
    play: { topology: 'sentinel' },
    caughtBy: ['exclusion', 'over_issue'],
  },
  'no-not-after': {
    about:
      "neither the script nor the reader of its reply checks whether the command is late by the store's clock",
    // With the first patch only, the reply of a late command reveals the step and is dropped.
    patches: [
      ...luaPatch('if epoch == expected and now <= not_after then', 'if epoch == expected then'),
      ...luaPatch('if now > not_after then', 'if false then'),
      tellWhatIsInDoubt,
    ],
    faults: ['store-clock-stepped'],
    play: { canStepClocks: true },
    caughtBy: ['exclusion', 'over_issue'],
  },
  'doubt-ignored': {
    about: "a grant is delivered although its reply shows that the store's clock was stepped forward",
    patches: [
      tellWhatIsInDoubt,
      // Shortens the quarantine after a step, because its usual time is most of a round. All believed leases end within
      // 1.5 s.
      scriptPatch(
        SET_PAUSE,
        SET_PAUSE.replace('longest * 1000', "(reason == 'clock' and 1500 or longest) * 1000"),
      ),
      scriptPatch(
        'if ends_at then ends_at = since + longest * 1000 end',
        "if ends_at and cause ~= 'clock' then ends_at = since + longest * 1000 end",
      ),
    ],
    faults: ['store-clock-nudged'],
    play: { canStepClocks: true },
    caughtBy: ['exclusion', 'over_issue'],
  },
} as const satisfies Record<string, Mutant>;
