import { workerData } from 'node:worker_threads';
import { answerTasks, setThreadPriority } from '../../base/task-answers';
import { buildAnswers, Builds } from './thread-builds';
import { searchListing, searchSuggestions } from './searches';
import type { ThreadCalls, ThreadSettings } from './thread-calls';

/** The start of an index thread. */

const { nice, dutyCycle } = workerData as ThreadSettings;
setThreadPriority(nice);

answerTasks<ThreadCalls>({
  ...buildAnswers(new Builds(dutyCycle)),
  suggest: searchSuggestions,
  list: searchListing,
});
