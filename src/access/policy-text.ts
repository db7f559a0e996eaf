import { isNode, LineCounter, parseDocument, type Document } from 'yaml';
import { z } from 'zod';
import { MAX_NAME_BYTES } from '../base/names';
import { escapeText } from '../base/text';
import { QUOTA_NAMES } from '../base/accounts';
import { globProblem } from './identity';
import { type PolicyRule, type QuotaRule, readMaxTtl, SERVICES, VERBS } from './policy';

export interface PolicyContent {
  readonly rules: readonly PolicyRule[];
  readonly quotas: readonly QuotaRule[];
  /** Rules that are valid, but may mean something else than their author thinks. */
  readonly warnings: readonly string[];
}

/** A text that is no policy. Each problem has the line and the path of its place in the file. */
export interface PolicyProblems {
  readonly problems: readonly string[];
}

/** The most problems that are reported at once. */
const MAX_PROBLEMS = 20;
/** The most pairs of a service and a name in all rules, so that the rules of an identity compile in about 1 ms. */
const MAX_PAIRS = 5000;
const MAX_IDENTITY_BYTES = 256;
/** The most items of `quotas`, so that the quotas of an identity are found in well below 1 ms. */
const MAX_QUOTAS = 500;

const CONTROL = /\p{Cc}/u;

const text = (maxBytes: number) =>
  z
    .string({ error: 'must be a text; put a number or a date into quotes' })
    .refine((value) => Buffer.byteLength(value) <= maxBytes, `must not be longer than ${maxBytes} bytes`)
    .refine((value) => !CONTROL.test(value), 'must not contain control characters')
    .refine(
      (value) => !value.includes('\u{FFFD}') && Buffer.from(value).toString() === value,
      'must be valid UTF-8 without U+FFFD',
    );

const glob = text(MAX_IDENTITY_BYTES)
  .refine((value) => !value.includes('**'), '"**" is not supported: "*" stands for any characters except "/"')
  .superRefine((value, context) => {
    const message = globProblem(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

const list = <T extends z.ZodType>(item: T, what: string) =>
  z.array(item, { error: `must be a list of ${what}, such as [a, b]` });

const oneOf = <const T extends string>(values: readonly T[]) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

const MAX_TTL_TEXT = 'must be a span from 100ms to 24h, such as 500ms, 30s or 2m';

const notEmpty = 'must have at least one item; "" in names stands for every name';

const maxTtl = z
  .string({ error: MAX_TTL_TEXT })
  .refine((value) => readMaxTtl(value) !== undefined, MAX_TTL_TEXT)
  .optional();

const ruleSchema = (known: readonly string[]) =>
  z
    .strictObject({
      identities: list(glob, 'globs').min(1, notEmpty),
      services: list(oneOf(known), 'services').min(1, notEmpty),
      names: list(text(MAX_NAME_BYTES), 'prefixes of names').min(1, notEmpty),
      allow: list(oneOf(VERBS), 'verbs'),
      max_ttl: maxTtl,
    })
    .refine(
      ({ max_ttl, allow, services }) =>
        max_ttl === undefined ||
        (allow.includes('use') &&
          services.some((one) => one === 'LockService' || one === 'SemaphoreService')),
      {
        path: ['max_ttl'],
        message: 'needs the verb use, and LockService or SemaphoreService, because only leases have a ttl',
      },
    );

/** The smallest value of each quota. With a quota of 0 commands per second, a caller could not make any call. */
const SMALLEST = {
  leases: 0,
  waiters: 0,
  streams: 0,
  sessions: 0,
  commands_per_second: 1,
  entries: 0,
  bytes: 0,
} as const;

const quotaSchema = z
  .strictObject({
    identities: list(glob, 'globs')
      .min(1, 'must have at least one item; without the key, the quotas hold for every identity')
      .optional(),
    count: oneOf(['each', 'together']).optional(),
    leases: quota('leases'),
    waiters: quota('waiters'),
    streams: quota('streams'),
    sessions: quota('sessions'),
    commands_per_second: quota('commands_per_second'),
    entries: quota('entries'),
    bytes: quota('bytes'),
  })
  .refine(
    (item) => QUOTA_NAMES.some((name) => item[name] !== undefined),
    `must have at least one of ${QUOTA_NAMES.join(', ')}`,
  )
  .refine(({ count, entries, bytes }) => count !== 'together' || (entries ?? bytes) === undefined, {
    path: ['count'],
    message:
      'together is not for entries and bytes, which count for the owner of a dictionary; use another item for them',
  });

function quota(name: keyof typeof SMALLEST) {
  const expected = `must be a whole number of at least ${SMALLEST[name]}`;
  return z.int({ error: expected }).min(SMALLEST[name], expected).optional();
}

const policySchema = (known: readonly string[]) =>
  z.strictObject({
    rules: list(ruleSchema(known), 'rules').refine(
      (rules) =>
        rules.reduce((sum, { services, names }) => sum + services.length * names.length, 0) <= MAX_PAIRS,
      `must not have more than ${MAX_PAIRS} pairs of a service and a name in all rules together`,
    ),
    quotas: list(quotaSchema, 'quotas')
      .max(MAX_QUOTAS, `must not have more than ${MAX_QUOTAS} items`)
      .default([]),
  });

/**
 * Reads the text of a policy file. Strict: an unknown key, a wrong type or a misspelt verb makes the text no policy.
 * @param others services that are not of the contract
 */
export function readPolicy(source: string, others: readonly string[] = []): PolicyContent | PolicyProblems {
  if (source !== '' && !source.endsWith('\n')) {
    const line = source.split('\n').length;
    return { problems: [`line ${line}: does not end with a line feed, so the file may be half written`] };
  }
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) {
    return {
      problems: shown(broken.map(({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`)),
    };
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { problems: shown([String(error)]) };
  }
  const result = policySchema([...SERVICES, ...others]).safeParse(value);
  if (result.success) return { ...result.data, warnings: warningsOf(result.data.rules, document, lines) };
  return { problems: shown(result.error.issues.map((issue) => problemOf(issue, document, lines))) };
}

function warningsOf(rules: readonly PolicyRule[], document: Document, lines: LineCounter): readonly string[] {
  const warnings = rules.flatMap(({ names, services }, rule) =>
    names.flatMap((name, index) =>
      nameWarnings(name, services).map(
        (warning) => `${placeOf(['rules', rule, 'names', index], document, lines)}: ${warning}`,
      ),
    ),
  );
  return shown(warnings);
}

function nameWarnings(name: string, services: readonly string[]): readonly string[] {
  return [
    ...(name.endsWith('*')
      ? ['a name is a prefix, and "*" stands for itself in it; remove "*" unless names contain "*"']
      : []),
    ...(name !== '' && services.includes('ServerService')
      ? ['ServerService has no names, so only "" counts for its calls']
      : []),
  ];
}

function shown(problems: readonly string[]): readonly string[] {
  const few = problems.slice(0, MAX_PROBLEMS).map((problem) => escapeText(problem.slice(0, 500)));
  const more = problems.length - few.length;
  return more > 0 ? [...few, `and ${more} more problems`] : few;
}

function problemOf(issue: z.core.$ZodIssue, document: Document, lines: LineCounter): string {
  const path = issue.path as readonly (string | number)[];
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    return `${placeOf([...path, key], document, lines)}: is not a known key`;
  }
  if (issue.code === 'invalid_type' && path.length === 0) return 'line 1: the file must have the key rules';
  const isMissing = document.getIn(path, true) === undefined;
  return `${placeOf(path, document, lines)}: ${isMissing ? 'is required' : issue.message}`;
}

/** The line of the value at a path, or of the nearest value around it, and the path as `rules[2].allow[0]`. */
function placeOf(path: readonly (string | number)[], document: Document, lines: LineCounter): string {
  const name = path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '');
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return `line ${lines.linePos(node.range[0]).line}: ${name}`;
  }
  return `line 1: ${name}`;
}
