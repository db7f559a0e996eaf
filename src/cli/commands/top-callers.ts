import { status } from '@grpc/grpc-js';
import { Option, type Command } from 'commander';
import { HoldfastError, type Holdfast } from '../../../clients/typescript';
import { addressList } from '../../../clients/typescript/connection/addresses';
import { durationToMs } from '../../../clients/typescript/duration';
import { ErrorReason, errorReasonToJSON } from '../../../generated/typescript/holdfast/v1/error_reason';
import {
  Caller,
  CallerOrder,
  ServerServiceService as service,
  type ListCallersResponse,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { connectionSettings, type ConnectionFlags } from '../settings';
import { CliError, EXIT, UsageError } from '../exit-codes';
import type { Look } from '../live-screen';
import { spanText } from '../spans';
import type { Column } from '../table';
import type { Terminal } from '../terminal';
import { timeOfDayMs } from '../time-of-day';

/** The options of `holdfast top` for callers. */
export interface CallerFlags {
  callers?: boolean;
  by?: keyof typeof ORDERS | 'hold';
}

const ORDERS = {
  calls: CallerOrder.CALLER_ORDER_CALL_COUNT,
  refusals: CallerOrder.CALLER_ORDER_REFUSAL_COUNT,
  leases: CallerOrder.CALLER_ORDER_LEASE_COUNT,
  waits: CallerOrder.CALLER_ORDER_WAITER_COUNT,
} as const;

/** A caller, or the sums of all callers without a row. */
type Row = { readonly caller: Caller } | { readonly other: Caller };

export function addCallerOptions(command: Command): Command {
  return command
    .option('--callers', 'show who calls one server, the most calls of the last minute first')
    .addOption(
      new Option(
        '--by <order>',
        'hold: the names that are held longest; the others order callers (default: calls)',
      ).choices([...Object.keys(ORDERS), 'hold']),
    );
}

/** Asks the server for its callers. Throws a UsageError for options that do not fit. */
export function callerLook(
  prefix: string,
  flags: CallerFlags & ConnectionFlags & { limit: number },
  { env }: Terminal,
): (hf: Holdfast) => Promise<Look<unknown>> {
  const { by = 'calls' } = flags;
  if (by === 'hold') throw new UsageError('--by hold orders names, not callers');
  if (prefix !== '') throw new UsageError('--callers shows callers, so it takes no prefix of names');
  const { address } = connectionSettings(flags, env);
  const several = addressList(address).length > 1 ? ONE_OF_SEVERAL : undefined;
  const request = {
    identity: '',
    address: '',
    pageSize: flags.limit,
    orderBy: ORDERS[by],
  };
  return async (hf) => {
    const answer = await hf.call(service.listCallers, request).catch(explainOldServer);
    return lookAt(answer, several) as Look<unknown>;
  };
}

const ONE_OF_SEVERAL = 'these are the callers of one of the servers; name one server with --address';

function explainOldServer(error: unknown): never {
  if (!(error instanceof HoldfastError) || error.code !== status.UNIMPLEMENTED) throw error;
  throw new CliError('this server cannot list its callers, because its version is too old', EXIT.failed);
}

function lookAt(
  { callers, other, callerCount, recentDuration }: ListCallersResponse,
  several?: string,
): Look<Row> {
  const recent = spanText((recentDuration && durationToMs(recentDuration)) ?? 0);
  const left = callerCount - callers.length;
  return {
    rows: [...callers.map((caller) => ({ caller })), ...(other === undefined ? [] : [{ other }])],
    notes: [
      `RECENT and REFUSED are of the last ${recent}${left > 0 ? `; ${left} more callers, --limit shows up to 500` : ''}`,
      ...(several === undefined ? [] : [several]),
    ],
    atMs: timeOfDayMs(),
    columns: COLUMNS,
    toJson: rowToJson,
    nothing: 'no callers found',
  };
}

function rowToJson(row: Row): unknown {
  return 'caller' in row ? { caller: Caller.toJSON(row.caller) } : { other: Caller.toJSON(row.other) };
}

function usedBy(row: Row): Caller {
  return 'caller' in row ? row.caller : row.other;
}

function count(title: string, value: (caller: Caller) => bigint | number): Column<Row> {
  return { title, value: (row) => String(value(usedBy(row))), isNumber: true };
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'IDENTITY',
    value: (row) => ('caller' in row ? row.caller.identity || '-' : '(all others)'),
    mayShrink: true,
  },
  { title: 'ADDRESS', value: (row) => usedBy(row).address || '-' },
  count('RECENT', (caller) => caller.recentCallCount),
  count('REFUSED', (caller) => caller.recentRefusalCount),
  count('CALLS', (caller) => caller.callCount),
  count('LEASES', (caller) => caller.leaseCount),
  count('WAITS', (caller) => caller.waiterCount),
  count('STREAMS', (caller) => caller.streamCount),
  { title: 'LAST REFUSAL', value: (row) => lastRefusal(usedBy(row)) },
];

function lastRefusal({ lastRefusalReason }: Caller): string {
  if (lastRefusalReason === ErrorReason.ERROR_REASON_UNSPECIFIED) return '';
  return errorReasonToJSON(lastRefusalReason).replace('ERROR_REASON_', '');
}
