// The designs of ClockSteps.tla. Each has the constants of `base`, except for those that it names.

export const lines = ['SPECIFICATION Spec'];

export const base = {
  Servers: '{1, 2}',
  Newcomers: '{}',
  Horizon: '5',
  Flight: '2',
  Ttl: '2',
  Timeout: '1',
  Quarantine: '2',
  Steps: '{1, 2}',
  MostSteps: '1',
  Backward: 'TRUE',
  Samples: '"compared"',
  Direct: '"none"',
  Grants: '"doubted"',
};

export const designs = {
  'direct-time-unchecked': {
    about: 'A direct grant is reported without a check of the TIME in the reply that carries the grant.',
    violates: 'Exclusion',
    with: { Direct: '"told"' },
  },
  'found-sample-unchecked': {
    about:
      'docs/design/leases.md, rule 12, as first designed, and a large step: the reply to a renewal is not compared with the monotonic clock, and moves not_after by the step.',
    violates: 'Exclusion',
    with: {
      Horizon: '6',
      Ttl: '3',
      Quarantine: '3',
      Steps: '{2}',
      Backward: 'FALSE',
      Samples: '"last"',
      Grants: '"told"',
    },
  },
  'found-small-clock-step': {
    about:
      'docs/design/leases.md, rule 12, as first designed, with every sample compared: not_after does not detect a step forward that is not longer than the command timeout.',
    violates: 'Exclusion',
    with: { Ttl: '3', Quarantine: '3', Steps: '{1}', Backward: 'FALSE', Grants: '"told"' },
  },
  'limit-back-and-forth': {
    about: 'No rule covers this case: the clock steps back and forward again within one lease.',
    violates: 'Exclusion',
    with: { MostSteps: '2' },
  },
  'limit-newcomer-after-step': {
    about:
      'No rule covers this case: the first sample of a server comes after the step, so the server cannot notice it.',
    violates: 'Exclusion',
    with: { Newcomers: '{2}', Backward: 'FALSE' },
  },
  'right-clock-step': {
    about:
      'Every sample is compared, and a grant is not reported if its reply shows a step: one step, forward or backward, of any size.',
    keeps: ['Exclusion'],
  },
  'right-direct-clock-step': {
    about:
      'Direct grants, and one step of the clock: a direct grant is not reported either if its reply shows a step.',
    keeps: ['Exclusion'],
    with: { Direct: '"doubted"' },
  },
};
