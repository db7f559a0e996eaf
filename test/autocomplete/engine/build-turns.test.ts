import { BuildShares, BuildTurns } from '../../../src/autocomplete/loaded/builds';

const settle = () => new Promise(setImmediate);

/** A build that ends when the test says so. */
function gate(): { readonly open: Promise<void>; release: () => void } {
  let release: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (release = resolve));
  return { open, release };
}

test('builds of one thread run one after another, the smallest first', async () => {
  const turns = new BuildTurns();
  const begun: number[] = [];
  const first = gate();
  const build = (bytes: number) =>
    turns.run(bytes, () => {
      begun.push(bytes);
      return bytes === 100 ? first.open : Promise.resolve();
    });
  const all = [100, 50, 20, 70, 20, 10].map(build);
  await settle();
  expect(begun).toEqual([100]);
  first.release();
  await Promise.all(all);
  expect(begun).toEqual([100, 10, 20, 20, 50, 70]);
});

test('a build that smaller builds have overtaken eight times comes next', async () => {
  const turns = new BuildTurns();
  const begun: string[] = [];
  const build = (name: string, bytes: number): Promise<void> =>
    turns.run(bytes, async () => {
      begun.push(name);
      await settle();
      // A smaller build is always there.
      if (name.startsWith('small') && begun.length < 30) running.push(build(`small ${begun.length}`, 1));
    });
  const running = [build('small a', 1), build('large', 99), build('small b', 1)];
  for (const one of running) await one;
  expect(begun.indexOf('large')).toBe(9);
});

test('a failed build gives its turn to the next one', async () => {
  const turns = new BuildTurns();
  const failed = turns.run(1, () => Promise.reject(new Error('no')));
  const next = turns.run(1, () => Promise.resolve('built'));
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('built');
});

describe('builds that share the memory', () => {
  it('run together if all fit into the budget, and otherwise wait in the order of arrival', async () => {
    const shares = new BuildShares(100);
    const begun: string[] = [];
    const begin = async (name: string, bytes: number) => {
      const share = await shares.begin(bytes);
      begun.push(name);
      return share;
    };
    const a = begin('a', 60);
    const b = begin('b', 40);
    const c = begin('c', 50);
    // Fits, but would overtake c.
    const d = begin('d', 0);
    await settle();
    expect(begun).toEqual(['a', 'b']);
    // a knows now that it needs less.
    (await a).set(10);
    await settle();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    for (const one of [a, b, c, d]) (await one).end();
  });

  it('begin alone, however much they need', async () => {
    const shares = new BuildShares(100);
    const share = await shares.begin(1000);
    let isBegun = false;
    const next = shares.begin(1).then((begun) => {
      isBegun = true;
      return begun;
    });
    await settle();
    expect(isBegun).toBe(false);
    share.end();
    (await next).end();
  });
});
