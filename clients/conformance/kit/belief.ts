import type { Holding } from '../server/resource';
import type { Values } from './case-file';
import type { Told } from './driver-process';
import type { World } from './world';

interface SentCommand {
  readonly verb: string;
  readonly fields: Values;
  readonly at: number;
  isRead: boolean;
}

/** Times of the driver are rounded to whole milliseconds. */
const ROUNDING_MS = 1;

/** Checks in every case that no lease is valid after the latest deadline that the client may compute. */
export class Belief {
  problem: string | undefined;
  private readonly commands = new Map<number, SentCommand>();
  private readonly leases = new Map<string, Holding>();

  constructor(private readonly world: World) {}

  sent(id: number, verb: string, fields: Values, at: number): void {
    this.commands.set(id, { verb, fields, at, isRead: false });
  }

  /** Reads a result once. */
  told({ message }: Told): void {
    const command = this.commands.get(Number(message['id']));
    if (!command || command.isRead) return;
    command.isRead = true;
    const { lease } = command.fields;
    const granted = message['granted'] as { readonly token?: unknown } | undefined;
    if (granted && typeof lease === 'string') {
      const name = command.fields['name'] ?? command.fields['election'];
      const held = this.world.lease(String(name), String(granted.token));
      if (held) this.leases.set(lease, held);
      else this.leases.delete(lease);
    }
    if (command.verb === 'check' && message['valid'] === true)
      this.checkValid(command, message['remaining_ms']);
  }

  private checkValid({ fields, at }: SentCommand, remaining: unknown): void {
    const name = String(fields['lease']);
    const held = this.leases.get(name);
    if (!held) return;
    const leftMs = held.believableUntil - at;
    if (leftMs < 0) {
      this.problem ??= `lease ${name} was valid ${Math.round(-leftMs)} ms after its deadline`;
    } else if (Number(remaining) > leftMs + ROUNDING_MS) {
      this.problem ??= `lease ${name} has ${String(remaining)} ms left, but its deadline comes in ${Math.round(leftMs)} ms`;
    }
  }
}
