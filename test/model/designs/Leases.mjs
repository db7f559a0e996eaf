// The designs of Leases.tla. Each has the constants of `base`, except for those that it names.

export const lines = ['SPECIFICATION Spec', 'SYMMETRY Symmetry'];

export const base = {
  Clients: '{c1, c2}',
  Calls: '1',
  Horizon: '5',
  Flight: '1',
  Ttl: '2',
  OfferTime: '1',
  Timeout: '1',
  Lag: '1',
  StopsAfter: '1',
  Quarantine: '3',
  Faults: '{}',
  Base: '"send"',
  Disconnect: '"keep"',
  Tokens: '"time"',
  Epochs: '"promotion"',
  Renewals: '"outlasting"',
  NotAfter: 'TRUE',
  AttachRule: 'TRUE',
  GiveBackBy: '"token"',
  Resurrect: 'FALSE',
  Revokes: '"kept"',
  Breaks: 'FALSE',
  Servers: '1',
  Direct: '"none"',
  Expired: '"final"',
  Prompt: 'FALSE',
  SlowReplies: 'FALSE',
};

export const designs = {
  'base-from-message': {
    about:
      "The script that makes room grants to the next waiter, and the waiter's deadline counts from the pub/sub message.",
    violates: 'Exclusion',
    with: { Clients: '{c1, c2, c3}', Horizon: '3', Base: '"message"' },
  },
  'base-from-receipt': {
    about: 'The deadline counts from the receipt of the reply, not from the send of the command.',
    violates: 'Exclusion',
    with: { Base: '"receipt"', SlowReplies: 'TRUE' },
  },
  'counter-only-token': {
    about: 'The token is a counter: after a loss of data it goes back, despite the quarantine.',
    violates: 'TokensRise',
    with: { Faults: '{"failover"}', Tokens: '"counter"' },
  },
  'direct-finished': {
    about: 'A lease that has expired before any client was told of it ends its request.',
    violates: 'FinishedWasTold',
    with: { Direct: '"rule"' },
  },
  'direct-from-receipt': {
    about: 'The offset of a direct grant counts from the receipt of the reply.',
    violates: 'Exclusion',
    with: { Direct: '"from-receipt"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'direct-no-recheck': {
    about: 'A waiting call does not ask for a grant that it may have lost with a reply.',
    violates: 'NoDeadGrants',
    with: { Flight: '2', Direct: '"no-recheck"', Expired: '"returned"', Prompt: 'TRUE' },
  },
  'direct-no-return': {
    about: 'The direct grant of a call that is over is not given back.',
    violates: 'NoDeadGrants',
    with: { Flight: '2', Breaks: 'TRUE', Direct: '"no-return"', Expired: '"returned"', Prompt: 'TRUE' },
  },
  'direct-queued-again': {
    about:
      'The script that purges an expired lease queues the request again, because only one call was answered with it.',
    violates: 'OneToken',
    with: { Direct: '"rule"', Expired: '"queued"' },
  },
  'direct-return-answered': {
    about: 'A direct grant that comes after its call was answered by a claim is given back at once.',
    violates: 'Exclusion',
    with: { Flight: '2', Direct: '"return-answered"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'direct-return-beside-acquire': {
    about: 'A direct grant that comes while the acquire of its call is in flight is given back at once.',
    violates: 'Exclusion',
    with: { Flight: '2', Direct: '"return-beside-acquire"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'direct-return-beside-claim': {
    about: 'A direct grant that comes while a claim of its call is in flight is given back at once.',
    violates: 'Exclusion',
    with: { Flight: '2', Direct: '"return-beside-claim"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'direct-taken-again': {
    about: 'A waiting call takes a direct grant that the call was answered with before, and has given back.',
    violates: 'Exclusion',
    with: { Flight: '2', Direct: '"taken-again"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'direct-unguarded': {
    about: 'A release grants directly without the epoch check.',
    violates: 'Exclusion',
    with: { Lag: '0', Quarantine: '2', Faults: '{"restart"}', Direct: '"unguarded"', Expired: '"returned"' },
  },
  'found-epoch-of-process': {
    about:
      'docs/design/leases.md, rule 12, as first designed: the epoch names the process (run_id). The old primary comes back without a restart and with its old data. Its epoch matches, but it does not know the grants of the other node.',
    violates: 'Exclusion',
    with: { Horizon: '4', Ttl: '1', Quarantine: '2', Faults: '{"failover", "failback"}', Epochs: '"run"' },
  },
  'found-give-back-by-attach': {
    about:
      'A late grant is given back by its attach, and the wait continues with the same attach. The reply to the first give-back is lost, and this first copy runs after the second copy and after the next grant.',
    violates: 'Exclusion',
    with: { Horizon: '4', Flight: '2', Timeout: '2', GiveBackBy: '"attach"', SlowReplies: 'TRUE' },
  },
  'found-old-primary-unbounded': {
    about:
      'The old primary takes writes for longer than the quarantine assumes: min-replicas-to-write is 1, and one of several replicas stays with the old primary.',
    violates: 'Exclusion',
    with: { StopsAfter: '5', Faults: '{"failover"}' },
  },
  'found-renewals-beside-old-primary': {
    about:
      'docs/design/leases.md, rule 12, as first designed: in quarantine the new primary renews every live lease. The old primary, which takes writes until its lag bound, does not know the renewal, lets the lease expire and grants again.',
    violates: 'Exclusion',
    with: { Faults: '{"failover"}', Renewals: '"living"' },
  },
  'no-attach': {
    about: 'The attach is not checked: the late end of a broken stream takes back the lease of another call.',
    violates: 'Exclusion',
    with: { Calls: '2', AttachRule: 'FALSE', Breaks: 'TRUE' },
  },
  'no-epoch-failover': {
    about: 'No epoch: a lagging replica grants at once after its promotion.',
    violates: 'Exclusion',
    with: { Faults: '{"failover"}', Epochs: '"none"' },
  },
  'no-epoch-flush': {
    about: 'No epoch: the store grants at once after FLUSHALL.',
    violates: 'Exclusion',
    with: { Faults: '{"flush"}', Epochs: '"none"' },
  },
  'no-lag-in-quarantine': {
    about:
      'The quarantine is as long as a ttl, without the time in which the old primary still takes writes.',
    violates: 'Exclusion',
    with: { Quarantine: '2', Faults: '{"failover"}' },
  },
  'no-not-after': {
    about: 'A command may grant after its caller has timed out.',
    violates: 'NoLateGrant',
    with: { NotAfter: 'FALSE' },
  },
  'release-on-disconnect': {
    about: 'The server releases a lease when the stream of its holder breaks.',
    violates: 'Exclusion',
    with: { Disconnect: '"release"', Breaks: 'TRUE' },
  },
  'renew-resurrects': {
    about: 'A renewal recreates an ended lease.',
    violates: 'NoResurrection',
    with: { Resurrect: 'TRUE' },
  },
  'revoke-claim-frees': {
    about:
      'A claim of a revoked lease frees the lock, but the claim is a late copy: the client has got the lease.',
    violates: 'Exclusion',
    with: {
      Horizon: '4',
      Faults: '{"revoke"}',
      Revokes: '"claim-frees"',
      Direct: '"rule"',
      Expired: '"returned"',
      SlowReplies: 'TRUE',
    },
  },
  'revoke-frees': {
    about: 'A revocation without force frees the lock at once, although the holder may believe in its lease.',
    violates: 'Exclusion',
    with: { Flight: '2', Faults: '{"revoke"}', Revokes: '"freed"', Breaks: 'TRUE' },
  },
  'revoke-renewed': {
    about: 'A renewal extends a revoked lease.',
    violates: 'RevokedStays',
    with: { Flight: '2', Faults: '{"revoke"}', Revokes: '"renewed"', Breaks: 'TRUE' },
  },
  'right-direct-failover': {
    about:
      'Direct grants, with a failover that loses writes. The old primary continues beside the new one until it stops.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
    ],
    with: { Faults: '{"failover"}', Direct: '"rule"', Expired: '"returned"' },
  },
  'right-direct-flush': {
    about: 'Direct grants, with FLUSHALL at any time.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
    ],
    with: { Faults: '{"flush"}', Direct: '"rule"', Expired: '"returned"' },
  },
  'right-direct-prompt-breaks': {
    about:
      'Direct grants by prompt servers, with broken streams: the grant of a call that is over is given back.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
      'NoDeadGrants',
    ],
    with: { Flight: '2', Breaks: 'TRUE', Direct: '"rule"', Expired: '"returned"', Prompt: 'TRUE' },
  },
  'right-direct-prompt': {
    about: 'Direct grants by prompt servers. Replies may be lost: each lost grant is found.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
      'NoDeadGrants',
    ],
    with: { Flight: '2', Direct: '"rule"', Expired: '"returned"', Prompt: 'TRUE' },
  },
  'right-direct-retries': {
    about: 'Direct grants, with broken streams, and a second call of each client on another server.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
    ],
    with: { Calls: '2', Horizon: '3', Breaks: 'TRUE', Servers: '2', Direct: '"rule"', Expired: '"returned"' },
  },
  'right-direct-slow-flight': {
    about:
      'Direct grants. Each reply may come at any time, and two commands may be in flight, as in the counterexamples with direct-return.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
    ],
    with: { Flight: '2', Direct: '"rule"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'right-direct-slow-replies': {
    about:
      'Direct grants. Each reply may come at any time, the grant in it even after its command has timed out.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
    ],
    with: { Horizon: '4', Direct: '"rule"', Expired: '"returned"', SlowReplies: 'TRUE' },
  },
  'right-direct-three-clients': {
    about: 'Direct grants, with a third client.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
    ],
    with: { Clients: '{c1, c2, c3}', Horizon: '4', Direct: '"rule"', Expired: '"returned"' },
  },
  'right-direct': {
    about:
      'Direct grants, with broken streams: the server of both clients grants in the replies of its scripts.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'FinishedWasTold',
    ],
    with: { Horizon: '4', Flight: '2', Breaks: 'TRUE', Direct: '"rule"', Expired: '"returned"' },
  },
  'right-failover': {
    about:
      'The rules as they are, with a failover that loses writes. The old primary continues beside the new one until it stops.',
    keeps: ['Exclusion', 'TokensRise', 'NoResurrection', 'NoLateGrant', 'TruthfulOffset', 'OffersAreShort'],
    with: { Faults: '{"failover"}' },
  },
  'right-flush': {
    about: 'The rules as they are, with FLUSHALL at any time.',
    keeps: ['Exclusion', 'TokensRise', 'NoResurrection', 'NoLateGrant', 'TruthfulOffset', 'OffersAreShort'],
    with: { Flight: '2', Faults: '{"flush"}', Breaks: 'TRUE' },
  },
  'right-restart': {
    about: 'The rules as they are, with a restart that loses all writes since any earlier time.',
    keeps: ['Exclusion', 'TokensRise', 'NoResurrection', 'NoLateGrant', 'TruthfulOffset', 'OffersAreShort'],
    with: { Lag: '0', Quarantine: '2', Faults: '{"restart"}' },
  },
  'right-revoke-direct': {
    about: 'Direct grants, slow replies, and a revocation without force at any time.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'OneToken',
      'RevokedStays',
    ],
    with: {
      Horizon: '4',
      Faults: '{"revoke"}',
      Direct: '"rule"',
      Expired: '"returned"',
      SlowReplies: 'TRUE',
    },
  },
  'right-revoke': {
    about: 'The rules as they are, with a revocation without force at any time.',
    keeps: [
      'Exclusion',
      'TokensRise',
      'NoResurrection',
      'NoLateGrant',
      'TruthfulOffset',
      'OffersAreShort',
      'RevokedStays',
    ],
    with: { Flight: '2', Faults: '{"revoke"}', Breaks: 'TRUE' },
  },
  'right-slow-replies': {
    about: 'The rules as they are. A reply may come at any time until its caller times out, or never.',
    keeps: ['Exclusion', 'TokensRise', 'NoResurrection', 'NoLateGrant', 'TruthfulOffset', 'OffersAreShort'],
    with: { Horizon: '4', Flight: '2', Timeout: '2', SlowReplies: 'TRUE' },
  },
  'right-three-clients': {
    about:
      'The rules as they are, with a third client, without faults of the store and without broken streams.',
    keeps: ['Exclusion', 'TokensRise', 'NoResurrection', 'NoLateGrant', 'TruthfulOffset', 'OffersAreShort'],
    with: { Clients: '{c1, c2, c3}', Horizon: '4', Flight: '2' },
  },
};
