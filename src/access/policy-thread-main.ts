import { answerTasks } from '../base/thread';
import { type PolicyContent, type PolicyProblems, readPolicy } from './policy-text';

/** The calls of the thread that reads policy files: YAML of 256 KiB takes tens of milliseconds. */
export interface PolicyThreadCalls {
  readPolicy: {
    takes: { readonly text: string; readonly services: readonly string[] };
    answers: PolicyContent | PolicyProblems;
  };
}

/** The start of the thread that reads policy files. */

answerTasks<PolicyThreadCalls>({ readPolicy: ({ text, services }) => readPolicy(text, services) });
