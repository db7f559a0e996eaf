// The designs of ClockRates.tla. Each has the constants of `base`, except for those that it names.

export const lines = ['SPECIFICATION Spec', 'SYMMETRY Symmetry'];

export const base = {
  Clients: '{c1, c2}',
  Rates: '{2, 3}',
  Horizon: '5',
  Flight: '2',
  Timeout: '2',
  Ttl: '9',
  Quarantine: '9',
  Faults: '{}',
  Waits: '"shrunk"',
  Direct: 'FALSE',
  Heartbeats: '"none"',
  LateRelease: '"late"',
};

export const designs = {
  'found-early-late-release': {
    about:
      "A lost lease is released at its last confirmed end. The client's clock is slower than the server's clock.",
    violates: 'Exclusion',
    with: { LateRelease: '"early"' },
  },
  'no-rate-before-grant': {
    about: 'The offset is not shortened for the time before the grant.',
    violates: 'Exclusion',
    with: { Waits: '"whole"' },
  },
  'no-rate-in-quarantine': {
    about: 'The quarantine ends before the longest ttl has passed on the clock of Redis.',
    violates: 'Exclusion',
    with: { Quarantine: '6', Faults: '{"flush"}' },
  },
  'right-clock-rates': {
    about: 'The rules as they are, with clocks of all rates, and FLUSHALL at any time.',
    keeps: ['Exclusion'],
    with: { Faults: '{"flush"}' },
  },
  'right-direct-clock-rates': {
    about:
      'Direct grants, with clocks of all rates: the later of the send of the granting command and the receipt of the waiting call counts.',
    keeps: ['Exclusion'],
    with: { Direct: 'TRUE' },
  },
  'right-session-clock-rates': {
    about: 'Offsets count from heartbeats, with clocks of all rates.',
    keeps: ['Exclusion'],
    with: { Horizon: '4', Timeout: '1', Heartbeats: '"grown"' },
  },
  'session-command-at-heartbeat': {
    about: 'A command that is older than the heartbeat counts as sent at the heartbeat.',
    violates: 'Exclusion',
    with: { Horizon: '4', Timeout: '1', Heartbeats: '"passed-over"' },
  },
  'session-rate-shrunk': {
    about:
      'The time from the send of a command to a later heartbeat counts with 1 - Rho, as the time before the send does.',
    violates: 'Exclusion',
    with: { Horizon: '4', Timeout: '1', Heartbeats: '"shrunk"' },
  },
};
