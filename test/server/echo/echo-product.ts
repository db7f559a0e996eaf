import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckNames } from '../../../src/access/authorization';
import type { HoldfastError } from '../../../src/base/errors';
import { checkName, checkText, requireName, Violations } from '../../../src/rpc/fields';
import { OpenStreams, within } from '../../../src/rpc/open-streams';
import type { Rows } from '../../../src/rpc/service';
import { StateStream } from '../../../src/rpc/streams';
import type { OpenedProduct, Product } from '../../../src/server/products';
import { ROOT } from '../../support/root';
import { EchoServiceService, type WatchEchoesResponse } from './generated/echo';

/** The smallest whole product: a call, a stream, verbs of the policy, audit lines and a metric. */

const MAX_TEXT_BYTES = 1024;
const MAX_WATCHES = 1000;

/** The engine. It knows neither gRPC nor messages. */
class Echoes {
  count = 0;
  private readonly listeners = new Set<(name: string, text: string) => void>();

  echo(name: string, text: string): void {
    this.count += 1;
    for (const listener of this.listeners) listener(name, text);
  }

  /** Calls the listener with each text of the name. The returned function ends this. */
  listen(wanted: string, listener: (text: string) => void): () => void {
    const heard = (name: string, text: string): void => {
      if (name === wanted) listener(text);
    };
    this.listeners.add(heard);
    return () => this.listeners.delete(heard);
  }
}

const byName: CheckNames<{ readonly name: string }> = ({ name }, caller) => caller.require(name);

function rowsOf(echoes: Echoes, watches: OpenStreams): Rows<typeof EchoServiceService> {
  return {
    echo: {
      names: byName,
      load: 'normal',
      audit: ({ name }) => ({ action: 'echo', name }),
      handle: async ({ name, text }) => {
        const violations = new Violations();
        checkName(violations, 'name', name);
        checkText(violations, 'text', text, MAX_TEXT_BYTES);
        violations.throwIfAny();
        echoes.echo(name, text);
        return { text };
      },
    },

    watchEchoes: {
      names: byName,
      load: 'low',
      handle: async ({ name }, call, stream) => {
        requireName('name', name);
        const states = new StateStream<string, WatchEchoesResponse>(stream, (text) => ({ text }));
        let end: (error?: HoldfastError) => void = () => undefined;
        const ended = new Promise<void>((resolve, reject) => {
          end = (error) => (error === undefined ? resolve() : reject(error));
        });
        call.onCancelled(() => end());
        await within(watches, end, async () => {
          const stop = echoes.listen(name, (text) => states.send(text));
          await ended.finally(() => {
            stop();
            states.finish();
          });
        });
      },
    },
  };
}

/** The metrics of the product are read from this value. */
interface OpenedEcho extends OpenedProduct {
  readonly echoes: Echoes;
}

export const echo: Product<OpenedEcho> = {
  policyServices: ['EchoService'],
  metrics: [
    {
      name: 'echo_echoes_total',
      type: 'counter',
      unit: 'count',
      labels: {},
      help: 'Texts that were echoed.',
      rising: 'Callers echo more.',
      read: ({ echoes }) => [{ value: echoes.count }],
    },
  ],
  open: () => {
    const echoes = new Echoes();
    const watches = new OpenStreams(MAX_WATCHES, 'watches of echoes');
    return {
      services: [{ definition: EchoServiceService, rows: rowsOf(echoes, watches), kind: 'echo' }],
      descriptors: readFileSync(join(ROOT, 'test/server/echo/generated/echo.binpb')),
      echoes,
      drain: async () => watches.drain(),
    };
  },
};
