import { describeEntriesProperties } from '../support/entries-properties';

describeEntriesProperties({ runs: 100, timeLimitMs: 8000 });
