import { describeEntriesProperties } from '../support/autocomplete/entries-history';

describeEntriesProperties({ runs: 100, timeLimitMs: 8000 });
