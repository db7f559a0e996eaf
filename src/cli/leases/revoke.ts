import { InvalidArgumentError, type Command } from 'commander';
import type { Holdfast } from '../../../clients/typescript';
import { connected, withClient } from '../command-setup';
import type { ConnectionFlags } from '../settings';
import { CliError, UsageError } from '../exit-codes';
import { quoted } from '../quoted';
import type { Terminal } from '../terminal';
import type { Resource, ResourceKind, RevokeTarget } from './resource-kind';
import { freeText } from './resource-text';
import { revokeOverNames } from './revoke-over-names';

interface RevokeFlags extends ConnectionFlags {
  token?: bigint;
  all?: boolean;
  waiter?: number;
  holder?: string;
  identity?: string;
  prefix?: string;
  yes?: boolean;
  dryRun?: boolean;
  force?: boolean;
  reason: string;
}

/** Adds `revoke`, which ends leases and waits of one name, or those of one holder over names. */
export function addRevoke<T extends Resource>(
  parent: Command,
  kind: ResourceKind<T>,
  terminal: Terminal,
): void {
  const { word } = kind;
  const command = parent
    .command('revoke')
    .summary(`end the leases of a ${word}, or of a holder`)
    .description(
      `Ends a lease of a ${word}, all its leases, or the wait of one waiter. The holder is told at once. ` +
        `Without --force the ${word} becomes free only when the holder can no longer believe in its lease. ` +
        `With --holder or --identity instead of a name, ends the leases and waits of that holder in all ${word}s: ` +
        `shows them, asks, and revokes each by its token, so that nobody who comes later is hit. ` +
        `Looks at the first 16 holders and waiters of each ${word}.`,
    )
    .argument('[name]', `name of the ${word}`)
    .option('--token <token>', 'the lease with this fencing token', wholeNumber)
    .option('--all', 'all leases')
    .option('--waiter <place>', 'the waiter at this place of the queue', (text) => Number(wholeNumber(text)))
    .option('--force', `free the ${word} at once, although the holder may still work`)
    .option('--reason <text>', "reason for the servers' audit log", '')
    .optionsGroup('Over names:')
    .option('--holder <label>', 'the leases and waits of this label, which a client has chosen')
    .option('--identity <identity>', 'the leases and waits of this proven identity')
    .option('--prefix <prefix>', 'only in names that begin with this text')
    .option('--dry-run', 'only show what would be revoked')
    .option('-y, --yes', 'do not ask');
  connected(command).action(async (name: string | undefined, flags: RevokeFlags) => {
    const { holder = '', identity = '', prefix = '', reason } = flags;
    checkUse(name, flags);
    const force = flags.force === true;
    if (name === undefined) {
      const more = { yes: flags.yes === true, dryRun: flags.dryRun === true };
      const wanted = { holderId: holder, identity, namePrefix: prefix, force, reason, ...more };
      await withClient(terminal, flags, (hf) => revokeOverNames(kind, hf, terminal, wanted));
      return;
    }
    const revoked = await withClient(terminal, flags, async (hf) => {
      const target = await revokeTarget(kind, hf, name, flags);
      return kind.revoke(hf, { name, target, force, reason });
    });
    if (revoked.revokedCount === 0) {
      throw new CliError(`nothing to revoke: ${word} ${quoted(name)} has no such lease or waiter any more`);
    }
    const when = flags.waiter === undefined ? `; ${freeText(revoked)}` : '';
    terminal.err.write(`revoked: ${revoked.revokedCount}${when}\n`);
  });
}

/** An empty label or identity is a mistake of a script, and not the wish to end everything. */
function checkUse(
  name: string | undefined,
  { token, all, waiter, holder, identity, ...over }: RevokeFlags,
): void {
  const targets = [token, all, waiter].filter((value) => value !== undefined).length;
  const whose = [holder, identity].filter((value) => value !== undefined);
  if (whose.includes('')) throw new UsageError('--holder and --identity must not be empty');
  if (name === undefined) {
    if (whose.length === 0) throw new UsageError('give a name, or --holder or --identity');
    if (targets > 0) throw new UsageError('--token, --all and --waiter need a name');
    return;
  }
  if (whose.length > 0 || over.prefix !== undefined || over.yes || over.dryRun) {
    throw new UsageError(
      'with a name, --holder, --identity, --prefix, --dry-run and --yes have no meaning; give --prefix in place of the name',
    );
  }
  if (targets !== 1) throw new UsageError('give one of --token, --all and --waiter');
}

async function revokeTarget<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  name: string,
  { token, waiter }: RevokeFlags,
): Promise<RevokeTarget> {
  if (token !== undefined) return { kind: 'token', fencingToken: token };
  if (waiter === undefined) return { kind: 'all' };
  const { waiters } = await kind.get(hf, name);
  const enqueueTime = waiters.find(({ position }) => position === waiter)?.enqueueTime;
  if (enqueueTime === undefined) {
    throw new CliError(
      `${kind.word} ${quoted(name)} has no waiter at place ${waiter}, or the place is beyond the first 16`,
    );
  }
  return { kind: 'waiter', position: waiter, enqueueTime };
}

function wholeNumber(text: string): bigint {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return BigInt(text);
}
