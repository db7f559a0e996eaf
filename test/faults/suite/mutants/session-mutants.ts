import type { Mutant } from './mutants';
import { luaPatch } from './patch';

const OUTBOX = 'src/leases/service/session-outbox.ts';
const RELEASED = "this.send({ commandId, kind: 'released', released, lossCause });";

/** Mistakes of a server, or of a client, in sessions. */
export const sessionMutants = {
  'session-renews-after-silence': {
    about: 'a session renews its leases although no heartbeat arrives',
    patches: [
      {
        file: 'src/leases/life.ts',
        find: 'return now - Math.max(lastAt, grantedAt) >= Math.min(timeoutMs, ttlMs);',
        replace: 'return false;',
      },
    ],
    faults: ['heartbeats-disturbed'],
    play: { size: 'small' },
    caughtBy: ['session'],
  },
  'session-offset-from-wrong-heartbeat': {
    about: 'the offsets of a response count from the first heartbeat, and the response names the latest',
    patches: [
      {
        file: OUTBOX,
        find: 'const { id, lastAt } = heartbeats;',
        replace: 'const { id } = heartbeats;\n        const lastAt = (this.firstAt ??= heartbeats.lastAt);',
      },
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['truthful_offset', 'exclusion', 'over_issue'],
  },
  'session-events-lost': {
    about: 'a message of a session has at most two events, and the other events of the moment are lost',
    patches: [
      {
        file: OUTBOX,
        find: 'return takeFirst(this.events, MOST_EVENTS).map(([number, event]) => {',
        replace:
          'const taken = takeFirst(this.events, 2);\n    this.events.clear();\n    return taken.map(([number, event]) => {',
      },
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['session', 'false_loss', 'dead_grant'],
  },
  'session-attach-without-supersede': {
    about: 'an attach takes the lease over, and the call before it stays the speaker',
    patches: [
      ...luaPatch(
        'request.attach, request.answered, request.returnable, has_changed = attach, attach, 0, true',
        'request.returnable = 0',
      ),
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['session', 'false_loss'],
  },
  'session-taken-back': {
    about: 'an attach of an older session takes a lease back from a newer session',
    patches: [
      ...luaPatch(
        'request.attach == attach or take_over and not rare().is_after(request.attach, attach))',
        'request.attach == attach or take_over)',
      ),
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['session'],
  },
  'session-release-answered-twice': {
    about: 'a release of a session is answered twice',
    patches: [
      {
        file: 'src/leases/sessions/session.ts',
        find: RELEASED,
        replace: `${RELEASED}\n${RELEASED}`,
      },
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['session'],
  },
  'session-released-twice': {
    about: 'a repeated release frees the permits of the lease a second time',
    patches: [
      ...luaPatch(
        "if request.state == ENDED then return answer('ENDED', request.cause) end\nreturn answer(request.state == HELD and 'SUPERSEDED' or 'GONE')",
        "if request.state == ENDED then\nmeta.used = 0\ngrant_next()\nreturn answer('ENDED', request.cause)\nend\nreturn answer(request.state == HELD and 'SUPERSEDED' or 'GONE')",
      ),
    ],
    faults: [],
    play: { size: 'small' },
    caughtBy: ['exclusion', 'over_issue'],
  },
  'session-t0-of-the-latest-heartbeat': {
    about: 'a client counts an offset from its latest heartbeat, and not from the heartbeat that is named',
    patches: [
      {
        file: 'test/faults/sessions/heartbeats.ts',
        find: 'return t0;',
        replace: 'return this.lastBeatAt;',
      },
    ],
    faults: ['heartbeats-disturbed', 'client-link-slow'],
    play: { size: 'small' },
    caughtBy: ['truthful_offset', 'exclusion', 'over_issue'],
  },
} as const satisfies Record<string, Mutant>;
