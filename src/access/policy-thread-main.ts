import { answerTasks } from '../base/task-answers';
import { readPolicy } from './policy-text';
import type { PolicyThreadCalls } from './policy-thread-calls';

/** The start of the thread that reads policy files. */

answerTasks<PolicyThreadCalls>({ readPolicy });
