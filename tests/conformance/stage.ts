import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { Client } from './client.ts';
import { Cloud } from './cloud/cloud.ts';
import type { Link, OperationKind, ReportOf } from './cloud/link.ts';
import { register } from './cloud/token.ts';
import { Exchange } from './exchange.ts';
import { Files } from './files.ts';
import { must, NotTested } from './verdict.ts';
import { until } from './wait.ts';

export interface StageOptions {
  /** Command that starts the client, for /bin/sh. */
  readonly command: string;
  /** Timeout for an answer; milliseconds. */
  readonly timeoutMs: number;
  /** Timeout for the client's first connection; milliseconds. */
  readonly startupMs: number;
}

/** Size of the update that the kit's cloud offers; bytes. */
const artifactBytes = 96 * 1024;
const imei = '350000000000018';
export const audience = 'headset-cloud/conformance';
/** Package of the kit's updates. */
export const app = 'com.example.conformance';

const directories = new Set<string>();
process.on('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** The environment of one rule: a client with empty data, a scripted cloud and a file server. */
export class Stage {
  readonly exchange = new Exchange();
  readonly client: Client;
  readonly cloud: Cloud;
  readonly files: Files;
  readonly imei = imei;
  /** Ids of transactions that only prove that earlier messages have been handled. */
  readonly fences = new Set<bigint>();
  readonly timeoutMs: number;
  readonly #startupMs: number;
  readonly #directory: string;
  #lastId = 7000n;
  #lastVersion = 0;

  constructor({ command, timeoutMs, startupMs }: StageOptions) {
    this.timeoutMs = timeoutMs;
    this.#startupMs = startupMs;
    this.#directory = mkdtempSync(join(tmpdir(), 'conformance-'));
    directories.add(this.#directory);
    const registration = register(imei, audience);
    this.cloud = new Cloud(this.exchange, timeoutMs, registration);
    this.files = new Files(this.exchange, artifactBytes);
    this.cloud.onUrl = () => ({ url: this.files.address() });
    this.client = new Client({
      ...{ command, exchange: this.exchange, effectsFile: this.#effectsFile },
      env: () => ({
        HEADSET_SERVER: this.cloud.address,
        HEADSET_IMEI: imei,
        HEADSET_AUDIENCE: audience,
        HEADSET_KEY_ID: registration.keyId,
        HEADSET_KEY_PEM: this.#path('key.pem'),
        HEADSET_IDENTITY: this.#path('identity.json'),
        HEADSET_DATA: this.#path('data'),
        HEADSET_EFFECTS: this.#effectsFile,
      }),
    });
    const { keyId, privateKeyPem } = registration;
    mkdirSync(this.#path('data'));
    writeFileSync(this.#path('key.pem'), privateKeyPem, { mode: 0o600 });
    const identity = JSON.stringify({ deviceId: imei, keyId, privateKeyPem });
    writeFileSync(this.#path('identity.json'), identity, { mode: 0o600 });
  }

  async open(): Promise<void> {
    await Promise.all([this.cloud.listen(), this.files.listen()]);
  }

  async close(): Promise<void> {
    await this.client.kill();
    await Promise.all([this.cloud.close(), this.files.close()]);
    rmSync(this.#directory, { recursive: true, force: true });
    directories.delete(this.#directory);
  }

  /** Starts the client, waits for its hello and sends welcome. */
  async begin(): Promise<Link> {
    const link = await this.connect();
    await link.until('hello', () => link.messages.length > 0);
    this.cloud.welcome(link);
    return link;
  }

  /** Starts the client and waits for its first stream. */
  async connect(): Promise<Link> {
    this.client.start();
    const there = () => this.cloud.links.length > 0 || this.client.gaveUp;
    await until('the client to connect', this.#startupMs, there).catch((error) => {
      throw new NotTested(`The client never connected: ${(error as Error).message}`);
    });
    if (this.client.gaveUp) throw new NotTested('The client exits repeatedly.');
    return await this.cloud.next();
  }

  /** Kills and restarts the client. Returns the next session. */
  async afterKill(): Promise<Link> {
    await this.client.restart();
    return await this.cloud.online(this.#startupMs);
  }

  async afterCut(link: Link): Promise<Link> {
    link.cut();
    return await this.cloud.online();
  }

  /** Waits for the result of a transaction whose effect may restart the headset. Also returns the result's session. */
  async resultOverRestarts(link: Link, id: bigint): Promise<ReportOf<'result'> & { readonly link: Link }> {
    const find = () => link.reportsOf('result').find(({ value }) => value.transactionId === id);
    const found = await link.until(
      `the result of ${id}`,
      () => find() ?? (link.endedMs !== undefined && 'ended'),
    );
    if (found !== 'ended') return { ...found, link };
    const next = await this.cloud.online(this.#startupMs);
    const state = next.hello.held.find(({ transactionId }) => transactionId === id)?.state;
    if (state === HeldState.STARTED) next.start(id);
    return await this.resultOverRestarts(next, id);
  }

  /** Returns a new transaction id. */
  id(): bigint {
    this.#lastId += 1n;
    return this.#lastId;
  }

  /** Returns an operation that calls an app. */
  command(more: Record<string, unknown> = {}): OperationKind {
    return { case: 'command', value: { package: app, action: 'CONFORMANCE', launchType: 1, ...more } };
  }

  /** Returns an app update to a new version. */
  update(): OperationKind & { case: 'updateApp' } {
    this.#lastVersion += 1;
    const value = { package: app, version: `2.${this.#lastVersion}`, artifact: this.files.artifact() };
    return { case: 'updateApp', value };
  }

  /** Returns the number of effects of a transaction. */
  effects(id: bigint): number {
    return this.client.effects().filter(({ transactionId }) => transactionId === id).length;
  }

  async effect(id: bigint): Promise<void> {
    await until(`the effect of ${id} in the effects file`, this.timeoutMs, () => this.effects(id) > 0);
  }

  /**
   * Proves that the headset has handled all earlier messages on this stream: offers and starts a further command and
   * waits for its result. Work runs in the order of its starts.
   */
  async fence(link: Link, epoch?: bigint): Promise<ReportOf<'result'>> {
    const id = this.#fenceId();
    const result = await link.run(id, this.command(), epoch === undefined ? {} : { epoch });
    must(this.effects(id) === 1, `command ${id} has its result and ${this.effects(id)} effects`);
    return result;
  }

  /** Like `fence` if work may be delayed: waits for the answer to a further offer. */
  async readyFence(link: Link): Promise<void> {
    const id = this.#fenceId();
    link.offer(id, this.command());
    await link.ready(id);
  }

  /**
   * Starts an update whose download stops after some bytes, so that its effect does not begin until `files.release()`.
   * Returns the transaction id.
   */
  async startHeldUpdate(link: Link, kind: OperationKind = this.update()): Promise<bigint> {
    const id = this.id();
    this.files.answer = () => ({ holdAfter: artifactBytes / 2 });
    const before = this.files.of('GET').length;
    link.offer(id, kind);
    await link.ready(id);
    link.start(id);
    await until('the update to be loaded', this.timeoutMs, () =>
      this.files
        .of('GET')
        .slice(before)
        .some(({ sentBytes }) => sentBytes > 0),
    );
    return id;
  }

  #fenceId(): bigint {
    const id = this.id();
    this.fences.add(id);
    return id;
  }

  get #effectsFile(): string {
    return join(this.#path('data'), `${imei}.effects.jsonl`);
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}
