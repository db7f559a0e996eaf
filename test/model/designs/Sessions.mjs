// The designs of Sessions.tla. Each has the constants of `base`, except for those that it names.

export const lines = ['SPECIFICATION Spec', 'VIEW View'];

export const base = {
  Sessions: '2',
  Messages: '3',
  Horizon: '3',
  Flight: '2',
  Ttl: '2',
  Timeout: '1',
  Silence: '1',
  Base: '"named"',
  Renews: '"heartbeats"',
  Compare: '"command"',
  OldEnds: '"ignored"',
  AfterRelease: '"released"',
  Skips: '"lease"',
  Drops: 'TRUE',
  Owes: '"answer"',
};

export const designs = {
  'found-session-late-command': {
    about:
      'The first design: only session numbers are compared. An acquire or attach is given up and repeated in the same session. Its first copy runs late and takes the lease from the repeated command.',
    violates: 'NoFalseLoss',
    with: { Messages: '2', Compare: '"session"' },
  },
  'found-session-lost-kept': {
    about:
      'The first design has no rule for a grant that arrives after the deadline of its lease. The session renews a lease that nobody uses.',
    violates: 'NoOrphan',
    with: { Messages: '2', Owes: '"lost"' },
  },
  'found-session-old-renewal': {
    about:
      'The first design: the client skips renewals of a number that has ended. A lease that was lost is released in the next session. Then a renewal of the older session is read, where the number of the lease has not ended.',
    violates: 'Exclusion',
    with: { Messages: '1', Silence: '2', Skips: '"number"' },
  },
  'found-session-release-given-up': {
    about:
      'The first design: a release is repeated until the deadline. The release is lost, and the session renews on.',
    violates: 'NoOrphan',
    with: { Sessions: '1', Horizon: '5', Owes: '"deadline"' },
  },
  'right-session-three': {
    about: 'The rules with three sessions of a client.',
    keeps: ['Exclusion', 'TruthfulOffset', 'SilenceEnds', 'NoFalseLoss', 'NoOrphan'],
    with: { Sessions: '3', Messages: '1', Silence: '2' },
  },
  'right-session-two': {
    about: 'The rules with two sessions of a client.',
    keeps: ['Exclusion', 'TruthfulOffset', 'SilenceEnds', 'NoFalseLoss', 'NoOrphan'],
    with: { Messages: '2' },
  },
  'right-session-undropped': {
    about: 'An end does not drop the unsent renewals. The client skips the renewals, so this is safe.',
    keeps: ['Exclusion', 'TruthfulOffset', 'SilenceEnds', 'NoFalseLoss', 'NoOrphan'],
    with: { Sessions: '1', Horizon: '5', Drops: 'FALSE' },
  },
  'right-session': {
    about: 'The rules with one session.',
    keeps: ['Exclusion', 'TruthfulOffset', 'SilenceEnds', 'NoFalseLoss', 'NoOrphan'],
    with: { Sessions: '1', Horizon: '5' },
  },
  'session-attach-released': {
    about: 'A lease with an unanswered release is attached in the next session. The release runs late.',
    violates: 'Exclusion',
    with: { Messages: '2', AfterRelease: '"attached"' },
  },
  'session-base-latest': {
    about:
      'The client counts an offset from the last heartbeat that the client has sent, not from the heartbeat that the message names.',
    violates: 'Exclusion',
    with: { Sessions: '1', Horizon: '5', Base: '"latest"' },
  },
  'session-base-queued': {
    about:
      'Offsets are made when an answer is queued, and the message names the latest heartbeat when the message is sent.',
    violates: 'Exclusion',
    with: { Sessions: '1', Horizon: '5', Base: '"queued"' },
  },
  'session-late-acquire': {
    about:
      'Session numbers are not compared: an old server reads an acquire late and takes the lease from the later session.',
    violates: 'NoFalseLoss',
    with: { Messages: '2', Compare: '"any"' },
  },
  'session-late-attach': {
    about:
      'Session numbers are not compared, with three sessions: the server of the second session reads its attach or acquire after the third session has the lease.',
    violates: 'NoFalseLoss',
    with: { Sessions: '3', Messages: '1', Compare: '"any"' },
  },
  'session-old-end': {
    about:
      'The client believes an end that the older session tells after an acquire or attach was sent in the next session.',
    violates: 'NoFalseLoss',
    with: { Messages: '2', OldEnds: '"believed"' },
  },
  'session-renew-silent': {
    about: 'The server renews the lease of a silent client.',
    violates: 'SilenceEnds',
    with: { Sessions: '1', Horizon: '5', Renews: '"always"' },
  },
  'session-renewal-unskipped': {
    about: 'The client believes renewals of a lease that the client has released.',
    violates: 'Exclusion',
    with: { Sessions: '1', Horizon: '5', Skips: '"none"' },
  },
};
