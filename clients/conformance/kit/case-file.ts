import { parseDocument } from 'yaml';
import { takeover } from '../server/takeovers';
import { statusSpec } from '../server/status-spec';
import { CERTIFICATE_KINDS } from './certificate-kinds';
import { COMMANDS } from './commands';
import { textOf } from './text';

export type CaseSet = 'scripted' | 'faults';
export type Values = Readonly<Record<string, unknown>>;
export type Names = Readonly<Record<string, readonly string[]>>;

export interface Step {
  /** The name of the step: a command of the driver, or a step of the runner or of a server. */
  readonly verb: string;
  readonly value: unknown;
  /** `expect`, `within_ms`, `server` and so on. */
  readonly options: Values;
  /** The line in the file. */
  readonly line: number;
}

export interface Case {
  /** The path below the folder of the set, without its ending: `01-deadline/passes`. */
  readonly id: string;
  readonly set: CaseSet;
  readonly title: string;
  readonly needs: string | undefined;
  /** The servers, and their settings. */
  readonly servers: ReadonlyMap<string, Values>;
  /** The names of the DNS, each with its servers. */
  readonly names: Names;
  readonly steps: readonly Step[];
}

/** A case file that cannot be read. The text says where and why. */
export class BadCase extends Error {
  override readonly name = 'BadCase';
}

const WAITING = ['within_ms', 'since', 'min_ms', 'max_ms'];

/** The steps that are no commands of the driver, with the options that they may have. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  result: [...WAITING, 'expect'],
  no_result: ['for_ms'],
  event: WAITING,
  no_event: ['for_ms', 'since'],
  driver: [],
  pause_ms: [],
  file: [],
  mark: [],
  cut: ['server'],
  black_hole: ['server'],
  restore: ['server'],
  client_certificate: [],
};

const SCRIPTED_STEPS: Readonly<Record<string, readonly string[]>> = {
  set: ['server'],
  on: ['server'],
  end_lease: ['server'],
  take_over: [],
  hold: [],
  free: [],
  send: ['server'],
  send_unknown: ['server'],
  leave: ['server'],
  names: [],
  end_sessions: ['server'],
  end_calls: ['server'],
  reset_streams: ['server'],
  stop: ['server'],
  server_certificate: ['server'],
  received: [...WAITING, 'server', 'count'],
  not_received: ['for_ms', 'since', 'server', 'at_most'],
};

const FAULT_STEPS: Readonly<Record<string, readonly string[]>> = {
  kill: ['server'],
  terminate: ['server'],
  pause: ['server'],
  resume: ['server'],
  flush_store: [],
  start: ['server'],
  revoke: ['server'],
  ended: ['server', ...WAITING],
  holders: ['server', ...WAITING],
  waiters: ['server', ...WAITING],
};

const SETTINGS = [
  ...['echo', 'renew', 'silent', 'tokens', 'refuse', 'name_heartbeat', 'add_offset_ms'],
  ...['heartbeat_interval_ms', 'heartbeat_timeout_ms', 'max_command_count'],
];
const SERVER_KEYS = [...SETTINGS, 'tls', 'down'];
const CASE_KEYS = ['title', 'servers', 'names', 'needs', 'steps'];
/** The server that has the latest session. */
export const LATEST = 'latest';
const COMMAND_OPTIONS = [...WAITING, 'expect', 'as'];

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads and checks a case file. Throws a BadCase. */
export function readCase(id: string, set: CaseSet, text: string): Case {
  const document = parseDocument(text);
  const fail = (problem: string): never => {
    throw new BadCase(`${id}: ${problem}`);
  };
  const [error] = document.errors;
  if (error) return fail(`no YAML: ${error.message.split('\n')[0]}`);
  const content: unknown = document.toJS();
  if (!isMap(content)) return fail('a case is a map with title and steps');
  onlyKeys(content, CASE_KEYS, 'a case', fail);
  const { title, needs, steps, servers = { A: {} }, names: hosts = {} } = content;
  if (typeof title !== 'string' || title === '') return fail('the title is missing');
  if (needs !== undefined && needs !== 'fork')
    return fail(`"needs" may be fork, not ${JSON.stringify(needs)}`);
  if (!isMap(servers) || Object.keys(servers).length === 0) return fail('"servers" is a map of names');
  for (const [name, settings] of Object.entries(servers)) {
    if (isMap(settings ?? {})) onlyKeys((settings ?? {}) as Values, SERVER_KEYS, `server ${name}`, fail);
  }
  if (!Array.isArray(steps) || steps.length === 0) return fail('the steps are missing');
  const names = new Set(Object.keys(servers));
  if (set === 'faults' && Object.keys(hosts as Values).length > 0) return fail('the set faults has no names');
  checkNames(hosts, names, fail);
  return {
    ...{ id, set, title, needs, servers: new Map(Object.entries(servers as Record<string, Values>)) },
    names: hosts as Names,
    steps: steps.map((step: unknown, index) => {
      const where = `step ${index + 1}`;
      const failStep = (problem: string): never => fail(`${where}: ${problem}`);
      const read = readStep(step, index + 1, set, failStep);
      const { server } = read.options;
      if (read.verb === 'names') checkNames(read.value, names, failStep);
      const isLatest = set === 'scripted' && server === LATEST;
      if (server !== undefined && !isLatest && !names.has(textOf(server)))
        failStep(`there is no server ${textOf(server)}`);
      return read;
    }),
  };
}

type Fail = (problem: string) => never;

function onlyKeys(value: Values, allowed: readonly string[], what: string, fail: Fail): void {
  const unknown = Object.keys(value).find((key) => !allowed.includes(key));
  if (unknown !== undefined)
    fail(`${what} has no "${unknown}"; possible: ${allowed.join(', ') || 'nothing'}`);
}

function checkNames(names: unknown, servers: ReadonlySet<string>, fail: Fail): void {
  if (!isMap(names)) return fail('"names" is a map of names, each with a list of servers');
  for (const [name, list] of Object.entries(names)) {
    const strange = Array.isArray(list) ? list.find((one) => !servers.has(textOf(one))) : list;
    if (strange !== undefined) fail(`${name}: there is no server ${textOf(strange)}`);
  }
}

function readStep(step: unknown, line: number, set: CaseSet, fail: Fail): Step {
  if (!isMap(step)) return fail('a step is a map');
  const steps = { ...STEPS, ...(set === 'scripted' ? SCRIPTED_STEPS : FAULT_STEPS) };
  const verbs = Object.keys(step).filter((key) => key in COMMANDS || key in steps);
  const [verb, second] = verbs;
  if (verb === undefined) return fail(`none of ${Object.keys(step).join(', ')} is a step of the set ${set}`);
  if (second !== undefined) return fail(`"${verb}" and "${second}" are two steps`);
  const { [verb]: value, ...options } = step;
  const fields = COMMANDS[verb];
  if (fields) {
    if (!isMap(value ?? {})) return fail(`the fields of "${verb}" are a map`);
    onlyKeys((value ?? {}) as Values, fields, `"${verb}"`, fail);
  } else checkValue(verb, value, fail);
  onlyKeys(options, fields ? COMMAND_OPTIONS : (steps[verb] ?? []), `the step "${verb}"`, fail);
  for (const key of ['within_ms', 'min_ms', 'max_ms', 'for_ms', 'count', 'at_most']) {
    if (options[key] !== undefined && typeof options[key] !== 'number') fail(`"${key}" is a number`);
  }
  const timed = options['min_ms'] !== undefined || options['max_ms'] !== undefined;
  if (timed && options['since'] === undefined) fail('"min_ms" and "max_ms" need "since"');
  return { verb, value, options, line };
}

const DRIVER_ACTS = ['stop', 'continue', 'end', 'kill'];
const MAPS = [
  'event',
  'no_event',
  'received',
  'not_received',
  'end_lease',
  'take_over',
  'hold',
  'free',
  'send',
];

/** Finds mistakes before a case runs. */
function checkValue(verb: string, value: unknown, fail: Fail): void {
  if (MAPS.includes(verb) && !isMap(value)) fail(`the value of "${verb}" is a map`);
  if (verb === 'driver' && !DRIVER_ACTS.includes(String(value)))
    fail(`a driver can ${DRIVER_ACTS.join(', ')}`);
  if (verb.endsWith('_certificate') && !(CERTIFICATE_KINDS as readonly unknown[]).includes(value))
    fail(`a certificate may be ${CERTIFICATE_KINDS.join(', ')}`);
  if (verb === 'pause_ms' && typeof value !== 'number') fail('"pause_ms" is a number');
  if (verb === 'set') {
    if (!isMap(value)) return fail('the value of "set" is a map');
    onlyKeys(value, [...SETTINGS, 'expire'], '"set"', fail);
  }
  try {
    if (verb === 'on') takeover(value as Values);
    if (verb === 'end_sessions' || verb === 'end_calls') statusSpec(value);
  } catch (error) {
    fail((error as Error).message);
  }
}
