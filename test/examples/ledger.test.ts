import { LedgerProcess } from './ledger-process';

let ledger: LedgerProcess;

beforeAll(async () => {
  ledger = await LedgerProcess.start();
});
afterAll(() => ledger?.close());

const write = (name: string, token: unknown, text: unknown) =>
  ledger.write(name, JSON.stringify({ token, text }));

describe('the ledger', () => {
  it('takes writes with the same or a greater token, and lists them in order', async () => {
    for (const [token, text] of [
      [7, 'a'],
      [7, 'b'],
      [9, 'c'],
    ]) {
      expect(await write('order', token, text)).toMatchObject({ status: 200 });
    }
    expect(await ledger.writes('order')).toEqual([
      { token: 7, text: 'a' },
      { token: 7, text: 'b' },
      { token: 9, text: 'c' },
    ]);
  });

  it('refuses a write with a smaller token, and answers the greater token', async () => {
    await write('refused', 9, 'first');
    expect(await write('refused', 8, 'late')).toEqual({ status: 409, body: '9' });
    expect(await ledger.writes('refused')).toEqual([{ token: 9, text: 'first' }]);
  });

  it('keeps the tokens of names apart', async () => {
    await write('one', 9, 'first');
    expect(await write('other', 8, 'first')).toMatchObject({ status: 200 });
  });

  it('refuses a write without a token or a text, and goes on', async () => {
    for (const body of ['', '{', 'null', '{"text":"a"}', '{"token":"7","text":"a"}', '{"token":7}']) {
      expect(await ledger.write('wrong', body)).toMatchObject({ status: 400 });
    }
    expect(await ledger.writes('wrong')).toEqual([]);
  });
});
