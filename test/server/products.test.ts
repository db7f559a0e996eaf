import { create, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { pino } from 'pino';
import { DictionarySweeper } from '../../src/autocomplete/sweeper';
import { describedFiles } from '../../src/access/verbs';
import { offeredCalls, type OfferedService } from '../../src/rpc/service';
import { readConfig } from '../../src/server/config/config';
import { autocomplete, type OpenedProduct, type Product } from '../../src/server/products';
import { createServer, type HoldfastServer } from '../../src/server/server';
import { eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';

/** Products that fail, beside one that does not. */

let redis: RedisProcess;
let errors: string[];
beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
});
beforeEach(() => (errors = []));
afterAll(() => redis?.close());

function serverOf(products: readonly Product[], adminListen = 'off'): HoldfastServer {
  const config = readConfig({
    HOLDFAST_REDIS_URL: redis.url,
    HOLDFAST_LISTEN: '127.0.0.1:0',
    HOLDFAST_ADMIN_LISTEN: adminListen,
    HOLDFAST_STORE_IS_NEW: '1',
  });
  const write = (line: string): void => void errors.push((JSON.parse(line) as { msg: string }).msg);
  return createServer(config, { log: pino({ level: 'error' }, { write }), products });
}

const opening = (opened: Partial<OpenedProduct>): Product => ({ open: () => ({ services: [], ...opened }) });
const failing = (): Promise<never> => Promise.reject(new Error('no'));

test('a product is opened while the store is not connected yet, so that both connect at the same time', async () => {
  const reachable: boolean[] = [];
  const server = serverOf([
    {
      open: ({ redis: { node } }) => {
        reachable.push(node.reachable);
        return { services: [] };
      },
    },
  ]);
  await server.listen();
  await server.drain();
  expect(reachable).toEqual([false]);
});

const broken: Product = {
  open: () => {
    throw new Error('no such file');
  },
};

test('a product that cannot open ends the start, and the products before it are closed', async () => {
  const close = jest.fn(() => Promise.resolve());
  const server = serverOf([opening({ close }), broken]);
  await expect(server.listen()).rejects.toThrow('no such file');
  expect(close).toHaveBeenCalledTimes(1);
  await server.drain();
});

test('a failed start stops the sweeper of autocomplete', async () => {
  const stop = jest.spyOn(DictionarySweeper.prototype, 'stop');
  try {
    const server = serverOf([autocomplete, broken]);
    await expect(server.listen()).rejects.toThrow('no such file');
    expect(stop).toHaveBeenCalled();
    await server.drain();
  } finally {
    stop.mockRestore();
  }
});

test('the drain waits for each product, and closes each, even if the one before fails', async () => {
  let endDrain: () => void = () => undefined;
  const drained = new Promise<void>((resolve) => (endDrain = resolve));
  const close = jest.fn(() => Promise.resolve());
  const server = serverOf([
    opening({ drain: failing, close: failing }),
    opening({ drain: () => drained, close }),
  ]);
  await server.listen();
  const stopped = server.drain();
  await eventuallyPasses('the failed drain', () => expect(errors).toEqual(['a product failed to drain']));
  expect(close).not.toHaveBeenCalled();
  endDrain();
  await stopped;
  expect(close).toHaveBeenCalledTimes(1);
  expect(errors).toEqual(['a product failed to drain', 'a product failed to close']);
});

test('a load that fails is logged, and no longer keeps the server from being ready', async () => {
  const load: OpenedProduct['load'] = ({ onProgress }) => {
    onProgress(1);
    return failing();
  };
  const server = serverOf([opening({ load })], '127.0.0.1:0');
  await server.listen();
  await eventuallyPasses('a ready server', async () => {
    expect((await fetch(`http://${server.adminAddress}/readyz`)).status).toBe(200);
  });
  expect(errors).toEqual(['a product failed to load']);
  await server.drain();
});

describe('the descriptors of the products', () => {
  const file = (name: string, ...services: string[]) => ({
    name,
    package: name,
    service: services.map((service) => ({ name: service, method: [{ name: 'Call' }] })),
  });
  const bytesOf = (...files: ReturnType<typeof file>[]): Uint8Array =>
    toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: files }));
  const service = (path: string): OfferedService => {
    const bytes = () => Buffer.alloc(0);
    const codec = { requestSerialize: bytes, requestDeserialize: bytes };
    const method = { path, requestStream: false, responseStream: false, ...codec };
    const row = { names: () => undefined, load: 'low', handle: () => Promise.resolve({}) } as const;
    return {
      definition: { call: { ...method, responseSerialize: bytes, responseDeserialize: bytes } },
      rows: { call: row },
    };
  };

  it.each([
    [
      'a call without a verb',
      bytesOf(file('echo.v1', 'Echo')),
      'the call /echo.v1.Echo/Call has no required_verb',
    ],
    [
      'a call that is described twice',
      bytesOf(file('echo.v1', 'Echo'), { ...file('echo.v1', 'Echo'), name: 'copy.proto' }),
      'the call /echo.v1.Echo/Call is described twice',
    ],
    [
      'two services that a policy could not tell apart',
      bytesOf(file('echo.v1', 'Echo'), file('echo.v2', 'Echo')),
      'two services have the name Echo',
    ],
    [
      'a file that comes again as an import, whose calls are checked once,',
      bytesOf(file('echo.v1', 'Echo'), file('echo.v1', 'Echo')),
      'the call /echo.v1.Echo/Call has no required_verb',
    ],
  ])('are refused with %s', (_title, descriptors, problem) => {
    expect(() => offeredCalls([service('/echo.v1.Echo/Call')], describedFiles(descriptors))).toThrow(problem);
  });
});
