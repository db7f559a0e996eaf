import type { Command } from 'commander';
import {
  checkAddresses,
  type Context,
  contextPath,
  type OutputFlags,
  outputOf,
  printing,
  readContexts,
  withPorts,
  writeContexts,
} from '../client';
import { type Terminal, UsageError } from '../terminal';
import { quoted } from '../output';

/** `holdfast context`: named addresses with their credentials, as kubectl has them. */
export function addContext(program: Command, terminal: Terminal): void {
  const path = contextPath(terminal.env);
  const context = program
    .command('context')
    .description(`Name servers and their credentials, and choose among them. Kept in ${path}.`);

  context
    .command('set')
    .summary('create or replace a context')
    .description('Creates or replaces a context. It is chosen at once if no context is chosen.')
    .argument('<name>', 'name of the context')
    .requiredOption('-a, --address <host:port,…>', 'servers of one store')
    .option('--tls', 'use TLS')
    .option('--ca <file>', 'certificate authorities of the servers, PEM')
    .option('--cert <file>', 'certificate of this client, PEM')
    .option('--key <file>', 'key of the certificate, PEM')
    .option('--server-name <name>', "name in the server's certificate")
    .option('--token-file <file>', 'file with a bearer token')
    .action((name: string, flags: Context) => {
      if (flags.address !== undefined) checkAddresses(withPorts(flags.address));
      const contexts = readContexts(path);
      contexts.contexts.set(name, flags);
      contexts.current ??= name;
      writeContexts(path, contexts);
      terminal.err.write(`set: context ${quoted(name)}\n`);
    });

  context
    .command('use')
    .description('Chooses the context for later commands.')
    .argument('<name>', 'name of the context')
    .action((name: string) => {
      const contexts = readContexts(path);
      if (!contexts.contexts.has(name))
        throw new UsageError(`there is no context ${quoted(name)} in ${path}`);
      writeContexts(path, { ...contexts, current: name });
      terminal.err.write(`chosen: context ${quoted(name)}\n`);
    });

  context
    .command('delete')
    .description('Deletes a context.')
    .argument('<name>', 'name of the context')
    .action((name: string) => {
      const { current, contexts } = readContexts(path);
      if (!contexts.delete(name)) throw new UsageError(`there is no context ${quoted(name)} in ${path}`);
      writeContexts(path, { ...(current !== undefined && current !== name && { current }), contexts });
      terminal.err.write(`deleted: context ${quoted(name)}\n`);
    });

  printing(context.command('list').description('Lists the contexts.')).action(async (flags: OutputFlags) => {
    const { current, contexts } = readContexts(path);
    const rows = [...contexts].map(([name, one]) => ({ name, chosen: name === current, ...one }));
    await outputOf(terminal, flags).rows([rows], (row) => row, [
      { title: 'CHOSEN', value: ({ chosen }) => (chosen ? '*' : '') },
      { title: 'NAME', value: ({ name }) => name },
      { title: 'ADDRESS', value: ({ address }) => address ?? '', mayShrink: true },
      { title: 'TLS', value: ({ tls, ca, cert }) => ((tls ?? ca ?? cert) ? 'yes' : 'no') },
    ]);
  });
}
