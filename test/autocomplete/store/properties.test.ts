import { testRandomHistories } from '../../support/autocomplete/dictionary-history';
import { describeEntriesProperties } from '../../support/autocomplete/entries-history';

testRandomHistories();

describeEntriesProperties();
