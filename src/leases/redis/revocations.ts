import type { RevokeCommand, RevokeReply, RevokeTarget } from '../lease-store';

/** The arguments 2 to 10 of lease-revoke.lua. */
export function revokeArguments({ target, force, after }: RevokeCommand): (string | number)[] {
  const cursor = [after?.pass ?? 'first', after?.endUs ?? '', after?.requestId ?? ''];
  return [TARGETS[target.kind], force ? '1' : '0', ...targetArguments(target, after?.lastToken), ...cursor];
}

const TARGETS: Readonly<Record<RevokeTarget['kind'], string>> = {
  token: 'token',
  lease: 'lease',
  'all-holders': 'all',
  waiter: 'waiter',
};

function targetArguments(target: RevokeTarget, lastToken = ''): (string | number)[] {
  switch (target.kind) {
    case 'token':
      return [String(target.fencingToken), '', '', ''];
    case 'lease':
      return [String(target.fencingToken), target.requestId, '', ''];
    case 'all-holders':
      return [lastToken, '', '', ''];
    case 'waiter':
      return ['', '', target.position, String(target.enqueueTimeUs)];
  }
}

/**
 * True if a revocation that ran twice has the same reply both times. Otherwise the second run may miss what the first run has
 * ended: leases with force, offers and waiters.
 */
export function countsAgain({ target, force }: RevokeCommand, reply: RevokeReply): boolean {
  if (force) return false;
  return target.kind === 'lease' || (target.kind === 'token' && reply.kind === 'revoked' && reply.count > 0);
}
