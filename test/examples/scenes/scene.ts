import type { Program } from '../../support/toolchains';
import type { ExampleName } from '../example-languages';
import type { Stage } from '../stage';

export interface SceneContext {
  readonly stage: Stage;
  readonly program: (name: ExampleName) => Program;
}

/** What every language's example must do. The lines and exit codes are those of examples/README.md. */
export interface Scene {
  readonly title: string;
  readonly run: (context: SceneContext) => Promise<void>;
}

export const EXIT = {
  done: { code: 0, signal: null },
  failed: { code: 1, signal: null },
  usage: { code: 2, signal: null },
  lost: { code: 3, signal: null },
} as const;

/** Short, for scenes in which a lease ends by its ttl. */
export const SHORT_TTL_MS = 3000;
/** So long that no lease ends by its ttl during a scene. */
export const LONG_TTL_MS = 60_000;
/** Tolerance for scheduling and printing on a busy machine. */
export const SLACK_MS = 5000;
