import { UnavailableError } from '../../../clients/typescript';
import type { Lease } from '../../../clients/typescript/sessions/lease';
import { newsLog, type SessionNews } from '../../../clients/typescript/sessions/session-news';

const address = 'a:50051';
const lease = { name: 'report', loss: { message: 'the lease is over' } } as Lease;
const error = new UnavailableError('broken', { reason: '', code: 14 });

/** The table of docs/clients/typescript.md. */
const LEVELS: readonly { readonly level: string; readonly news: SessionNews; readonly text: RegExp }[] = [
  {
    level: 'debug',
    news: { kind: 'attached', address, lease },
    text: /a:50051 renews the lease of "report"/,
  },
  { level: 'info', news: { kind: 'started', address }, text: /a session with a:50051 has started/ },
  { level: 'info', news: { kind: 'leaving', address }, text: /a:50051 asks to leave/ },
  {
    level: 'warn',
    news: { kind: 'ended', address, error },
    text: /the session with a:50051 has ended: broken/,
  },
  {
    level: 'warn',
    news: { kind: 'ended', address: '', error },
    text: /the session with no server has ended: broken/,
  },
  {
    level: 'warn',
    news: { kind: 'renewalFailed', lease },
    text: /a renewal of the lease of "report" has failed/,
  },
  { level: 'warn', news: { kind: 'lost', lease }, text: /the lease is over/ },
  {
    level: 'error',
    news: { kind: 'callbackFailed', name: 'report', error: 'mine' },
    text: /onQueued of "report" has failed: mine/,
  },
];

test.each(LEVELS)('writes $news.kind at the level $level', ({ level, news, text }) => {
  const lines: string[][] = [];
  const at = (name: string) => (line: string) => void lines.push([name, line]);
  newsLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') })(news);
  expect(lines).toEqual([[level, expect.stringMatching(text) as string]]);
});
