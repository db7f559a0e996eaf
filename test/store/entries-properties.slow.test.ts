import { describeEntriesProperties } from '../support/entries-properties';

describeEntriesProperties({ runs: 5000, timeLimitMs: 120_000 });
