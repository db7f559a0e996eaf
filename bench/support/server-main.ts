/** Runs the product's server with the bench service, and prints its address. */
import { readConfig } from '../../src/server/config/config';
import { createLog } from '../../src/server/startup';
import { products } from '../../src/server/products';
import { createServer } from '../../src/server/server';
import { benchService } from './bench-service';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const server = createServer(config, {
    log: createLog(config.logLevel),
    products: [...products, { open: () => ({ services: [benchService()] }) }],
  });
  console.log(JSON.stringify({ msg: 'listening', listen: await server.listen() }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
