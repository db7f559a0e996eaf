import { testRandomHistories } from '../../support/autocomplete/dictionary-history';
import { describeEntriesProperties } from '../../support/autocomplete/entries-history';

testRandomHistories(120, 600_000);

describeEntriesProperties({ runs: 5000, timeLimitMs: 120_000 });
