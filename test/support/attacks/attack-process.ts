import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tokenDigest } from '../../../src/access/credentials';
import { AUDIENCE, ISSUER, IssuerServer, keySetText, sign, signingKey } from '../../access/issuer';
import { ChildProgram, inheritedEnvironment } from '../processes/child-program';
import { ROOT } from '../root';
import type { AttackReport, AttackTarget } from './attack';
import { KNOWN_KEY, OUTSIDER_TOKEN } from './refused-calls';

const PROGRAM = join(ROOT, 'dist', 'test', 'support', 'attacks', 'attack-program.js');
const END_TIMEOUT_MS = 60_000;

/** An attack in a process of its own, of lower priority than the server and its other clients. */
export class AttackProcess {
  private constructor(
    private readonly child: ChildProgram,
    private readonly forMs: number,
  ) {}

  static async start(name: string, target: AttackTarget): Promise<AttackProcess> {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run "npm run build"`);
    const child = new ChildProgram({
      label: `the attack ${name}`,
      args: [PROGRAM, name, JSON.stringify(target)],
      env: inheritedEnvironment(),
    });
    await child.start();
    return new AttackProcess(child, target.forMs);
  }

  get pid(): number {
    return this.child.pid;
  }

  /** The report after the end of the attack. */
  async report(): Promise<AttackReport> {
    const { code, signal } = await this.child.ended(this.forMs + END_TIMEOUT_MS);
    if (code !== 0)
      throw new Error(`the attack ended with ${signal ?? code}:\n${this.child.output.join('\n')}`);
    return JSON.parse(this.child.output.at(-1) ?? '') as AttackReport;
  }

  async close(): Promise<void> {
    await this.child.close();
  }
}

/** An hour, so that the token of a client lasts as long as every attack. */
const TOKEN_S = 3600;

/** Tokens, JSON web tokens and a policy. The outsider of the attacks may use only its own names. */
export class Guard {
  private constructor(
    /** The settings of the server. */
    readonly env: Readonly<Record<string, string>>,
    /** A JSON web token of a caller that may do everything. */
    readonly token: string,
    private readonly issuer: IssuerServer,
  ) {}

  static async open(folder: string): Promise<Guard> {
    const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy.yaml')];
    writeFileSync(tokens, `outsider sha256:${tokenDigest(OUTSIDER_TOKEN)}\n`);
    const rule = (identity: string, name: string) => ({
      identities: [identity],
      services: ['LockService'],
      names: [name],
      allow: ['read', 'use'],
    });
    const rules = [rule(`jwt:${ISSUER}#alice`, ''), rule('token:outsider', 'outsider/')];
    writeFileSync(policy, `${JSON.stringify({ rules })}\n`);
    const key = await signingKey(KNOWN_KEY);
    const issuer = await IssuerServer.start();
    issuer.answer = await keySetText([key]);
    const env = {
      HOLDFAST_AUTH_TOKENS: tokens,
      HOLDFAST_AUTH_JWT_ISSUER: ISSUER,
      HOLDFAST_AUTH_JWT_AUDIENCE: AUDIENCE,
      HOLDFAST_AUTH_JWT_JWKS: issuer.url,
      HOLDFAST_POLICY: policy,
    };
    return new Guard(env, await sign(key, { endsIn: TOKEN_S }), issuer);
  }

  /** The number of requests for the keys of the issuer. */
  get keyRequests(): number {
    return this.issuer.requestCount;
  }

  close(): void {
    this.issuer.close();
  }
}
