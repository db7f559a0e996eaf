// The designs of Leaving.tla. Each has the constants of `base`, except for those that it names.

export const lines = ['SPECIFICATION Spec'];

export const base = {
  Ttl: '12',
  RenewEvery: '4',
  BeatEvery: '5',
  Patience: '6',
  AttachTime: '1',
  Horizon: '30',
};

export const designs = {
  'found-late-leaving-short': {
    about: 'The first design with a short ttl: heartbeats and renewals every ttl / 3 (ttl 12 s, in seconds).',
    violates: 'NotLost',
    with: { BeatEvery: '4' },
  },
  'found-late-leaving': {
    about:
      'The first design: the client leaves when a heartbeat is unanswered for ttl / 2 (ttl 30 s, in seconds).',
    violates: 'NotLost',
    with: { Ttl: '30', RenewEvery: '10', Patience: '15', AttachTime: '3', Horizon: '60' },
  },
  'right-leaving-short': {
    about: 'Heartbeats every ttl / 6, and the client leaves after ttl / 4 (ttl 12 s, in seconds).',
    keeps: ['NotLost'],
    with: { BeatEvery: '2', Patience: '3', AttachTime: '2' },
  },
  'right-leaving': {
    about: 'The client leaves when a heartbeat is unanswered for ttl / 4 (ttl 30 s, in seconds).',
    keeps: ['NotLost'],
    with: { Ttl: '30', RenewEvery: '10', Patience: '7', AttachTime: '7', Horizon: '60' },
  },
};
