import type { Entry } from '../../clients/typescript';
import { entriesOf, type EntryFormat, formatOfName } from '../../src/cli/files/entry-formats';

/** The text comes in pieces of one byte, so each boundary of the parsers is between two pieces. */
async function read(format: EntryFormat, text: string | Buffer): Promise<Entry[]> {
  async function* bytes() {
    for (const byte of Buffer.from(text)) yield Buffer.from([byte]);
  }
  const entries: Entry[] = [];
  for await (const entry of entriesOf(bytes(), format, 'the file')) entries.push(entry);
  return entries;
}

const brief = (entries: readonly Entry[]) => entries.map(({ id, text, weight }) => [id, text, weight]);

test('JSON lines give entries with all fields', async () => {
  const line = { entryId: '3', text: 'Zürich', aliases: ['Turicum'], weight: '9', payload: 'AQI=' };
  expect(
    await read('jsonl', `${JSON.stringify(line)}\r\n\n{"entry_id":"4","text":"Bern","weight":2}`),
  ).toEqual([
    { id: '3', text: 'Zürich', aliases: ['Turicum'], weight: 9n, payload: Buffer.from([1, 2]) },
    { id: '4', text: 'Bern', aliases: [], weight: 2n, payload: Buffer.alloc(0) },
  ]);
});

test('JSON lines may be what "complete entries" prints, with selections', async () => {
  const text = '{"entry":{"entryId":"3","text":"Bern"},"selectionCount":"7"}\n';
  expect(brief(await read('jsonl', text))).toEqual([['3', 'Bern', 0n]]);
});

test('a CSV field in quotes may have commas, line breaks of the file and doubled quotes', async () => {
  const text = '\ufeffweight,text,id\r\n5,"New ""York"", N.Y.",ny\r\n\r\n,Bern,\r\n';
  expect(brief(await read('csv', text))).toEqual([
    ['ny', 'New "York", N.Y.', 5n],
    ['Bern', 'Bern', 0n],
  ]);
});

test('CSV and TSV divide aliases by |', async () => {
  expect((await read('csv', 'text,aliases\nNew York,NYC|Big Apple\n'))[0]?.aliases).toEqual([
    'NYC',
    'Big Apple',
  ]);
  expect((await read('tsv', 'text\taliases\nNew York\tNYC|"N"\n'))[0]?.aliases).toEqual(['NYC', '"N"']);
});

test('a line of text is the text and the id', async () => {
  expect(brief(await read('text', 'Bern\r\n\nGenève'))).toEqual([
    ['Bern', 'Bern', 0n],
    ['Genève', 'Genève', 0n],
  ]);
});

test.each<[EntryFormat, string | Buffer, string]>([
  ['jsonl', '{"entryId":"1","text":"a"}\n{', 'line 2 of the file: is no JSON'],
  ['jsonl', '[]', 'line 1 of the file: must be a JSON object'],
  ['jsonl', '{"id":"1","text":"a"}', 'line 1 of the file: "id" is no field of an entry'],
  ['jsonl', '{"text":"a"}', 'line 1 of the file: "entryId" must be a text'],
  ['jsonl', `{"entryId":"1","text":"${'ä'.repeat(257)}"}`, '"text" has 514 bytes, more than 512'],
  ['jsonl', '{"entryId":"1","text":"\\ud800"}', '"text" has a control character, half a surrogate pair'],
  ['jsonl', '{"entryId":"1","text":"a","weight":-1}', '"weight" must be a whole number'],
  ['jsonl', '{"entryId":"1","text":"a","weight":"4503599627370497"}', '"weight" must be a whole number'],
  ['jsonl', '{"entryId":"1","text":"a","payload":"%"}', '"payload" is no base64'],
  ['jsonl', `{"entryId":"1","text":"a","payload":"${'A'.repeat(1368)}"}`, '"payload" has 1026 bytes'],
  ['jsonl', `{"entryId":"1","text":"a","aliases":${JSON.stringify(Array(17).fill('b'))}}`, 'more than 16'],
  ['jsonl', 'x'.repeat(2 ** 17 + 1), 'line 1 of the file is longer than 131072 characters'],
  ['text', Buffer.from([0x61, 0xff]), 'the file is not UTF-8'],
  ['text', 'a\nb\u0007', 'line 2 of the file: "entryId" has a control character'],
  ['csv', 'text\n"a', 'the record at line 2 of the file has a quote without an end'],
  ['csv', 'text\n"a"b\n', 'the record at line 2 of the file has text after the end of a quote'],
  ['csv', 'text,id\na\n', 'line 2 of the file: has 1 fields, but the header has 2'],
  ['csv', 'name\na\n', 'line 1 of the file: has the column "name"'],
  ['csv', 'text,constructor\na,b\n', 'line 1 of the file: has the column "constructor"'],
  ['csv', 'id\na\n', 'line 1 of the file: must be a header with the column "text"'],
  ['csv', 'text,text\na,b\n', 'line 1 of the file: names a column twice'],
  [
    'csv',
    `text\n"${'x'.repeat(2 ** 17)}`,
    'the record at line 2 of the file is longer than 131072 characters',
  ],
])('%s refuses %j', async (format, text, problem) => {
  await expect(read(format, text)).rejects.toMatchObject({
    message: expect.stringContaining(problem),
    exitCode: 64,
  });
});

test('the ending of a name says the format', () => {
  expect(['a.jsonl', 'b.NDJSON', 'c.csv', 'd.tsv', 'e.txt'].map(formatOfName)).toEqual([
    ...['jsonl', 'jsonl', 'csv', 'tsv', 'text'],
  ]);
  expect(() => formatOfName('a.constructor')).toThrow('give --format jsonl|csv|tsv|text');
  expect(() => formatOfName('/usr/share/dict/words')).toThrow('give --format jsonl|csv|tsv|text');
});
