import { workerData } from 'node:worker_threads';
import { answerTasks, setThreadPriority } from '../../task-answers';
import { Builds } from './builds';
import { searchListing, searchSuggestions } from './searches';
import type { ThreadCalls, ThreadSettings } from './thread-calls';

/** The start of an index thread. */

const { nice, dutyCycle } = workerData as ThreadSettings;
setThreadPriority(nice);
const builds = new Builds(dutyCycle);

answerTasks<ThreadCalls>({
  startBuild: (value) => builds.start(value),
  addBuckets: ({ build, packed }) => builds.addBuckets(build, packed),
  addChanges: ({ build, changes }) => builds.addChanges(build, changes),
  addEntries: ({ build, entries }) => builds.addEntries(build, entries),
  addLayers: ({ build, layers }) => builds.addLayers(build, layers),
  planLayer: ({ build }) => builds.plan(build),
  writeLayer: ({ build, block }) => builds.write(build, block),
  endBuild: ({ build }) => builds.end(build),
  suggest: searchSuggestions,
  list: searchListing,
});
