import { describeEntriesProperties } from '../support/autocomplete/entries-history';

describeEntriesProperties({ runs: 5000, timeLimitMs: 120_000 });
