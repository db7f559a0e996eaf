import { eventually } from '../support/eventually';
import type { RawConnection } from './raw-call';
import { frame, type RawStream } from './raw-call';

/** Expects that `connection` has at most 16 open streams of this method until one of them ends, and `elsewhere` a place. */
export async function expectSixteenStreams(
  path: string,
  /** Whether the client ends its side of a stream after the first message. */
  { halfClose }: { readonly halfClose: boolean },
  connection: RawConnection,
  elsewhere: RawConnection,
): Promise<void> {
  const open = (on = connection): RawStream => {
    const stream = on.open({ path });
    stream.write(frame(Buffer.alloc(0)));
    if (halfClose) stream.end();
    return stream;
  };
  const first = open();
  const others = Array.from({ length: 15 }, () => open());
  await eventually('the answers', () => [first, ...others].every((stream) => stream.receivedBytes > 0));
  expect(await open().outcome).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
  const other = open(elsewhere);
  await eventually('the answer on another connection', () => other.receivedBytes > 0);
  first.cancel();
  await eventually('a free place', async () => {
    const again = open();
    let isRefused = false;
    void again.outcome.then(() => (isRefused = true));
    await eventually('an answer', () => isRefused || again.receivedBytes > 0);
    return !isRefused;
  });
  connection.close();
  elsewhere.close();
}
