import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  allListed,
  allPages,
  DictionaryFixture,
  entry,
  storedOf,
} from '../support/autocomplete/dictionary-fixture';
import { compare } from '../support/autocomplete/dictionary-model';
import { sayNotChecked } from '../support/not-checked';

/** Locales of this machine that do not order letters by their bytes. */
async function otherLocales(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('locale', ['-a']).catch(() => ({ stdout: '' }));
  return stdout.split('\n').filter((name) => /^[a-z]{2,3}_[A-Z]{2}\.utf-?8$/i.test(name));
}

describe('the order of a dictionary', () => {
  it('is the byte order of the folded texts in every locale of Redis', async () => {
    const [locale] = await otherLocales();
    if (locale === undefined) {
      sayNotChecked('the order in another locale', 'none but C is installed');
      return;
    }
    const on = await DictionaryFixture.open({ env: { LC_ALL: locale } });
    try {
      const collated = await on.redis.command('EVAL', "return 'z' < 'é' and 1 or 0", 0);
      if (collated !== '0') {
        sayNotChecked('the order in another locale', `this Redis does not go by ${locale}`);
        return;
      }
      const name = on.name();
      await on.engine.createDictionary(name, { accents: 'kept', typos: true });
      // The texts are folded. Some contain digits and characters that a collation ignores.
      const texts = ['xa', 'xb', 'xz', 'xä', 'xé', 'x a', 'x-b', 'x_c', 'x1', 'x10', 'x9', 'xжа', 'x東'];
      const entries = [
        ...texts.map((text) => entry(text, text)),
        // Entries with equal texts are ordered by their ids, which are not folded.
        ...['b', 'B', 'a', 'A', 'é', 'z', '_', '-', '1'].map((id) => entry(`id ${id}`, 'xsame')),
      ];
      await on.engine.putEntries(name, storedOf(...entries));
      const expected = [
        ...texts.map((text) => [text, text]),
        ...['b', 'B', 'a', 'A', 'é', 'z', '_', '-', '1'].map((id) => ['xsame', `id ${id}`]),
      ]
        .sort(([a = '', id = ''], [b = '', other = '']) => compare(a, b) || compare(id, other))
        .map(([, id]) => id);
      for (const pageSize of [2, 100]) {
        const found = await allPages(() => on.engine, { dictionary: name, query: 'x', pageSize });
        expect(found.map(({ entryId }) => entryId)).toEqual(expected);
      }
      const listed = await allListed(() => on.engine, { dictionary: name, pageSize: 3 });
      expect(listed.map(({ text }) => text).sort(compare)).toEqual(listed.map(({ text }) => text));
      expect(await on.checkAtRest(name)).toEqual([]);
    } finally {
      await on.close();
    }
  });
});
