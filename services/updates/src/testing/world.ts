import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { SealingContext, Service } from '@headset-cloud/process/service.ts';
import { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { DownloadsService, UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { Registry } from 'prom-client';
import { buildUpdates } from '../build.ts';
import type { RunningContentChecks } from '../checks/content-checks.ts';
import { updatesConfig } from '../config.ts';
import { checksHere } from './checks-here.ts';
import { RecordingDevices } from './recording-devices.ts';

/**
 * RPC deadline that is longer than a call takes on a slow machine. Only the test's own timeout ends a call that hangs.
 */
const longDeadline = { deadlineMs: 60_000 };

/** A running updates service on the embedded store and this machine's disk, with a recording fake of devices. */
export class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'updates-'));
  readonly devices = new RecordingDevices();
  readonly metrics = new Registry();
  readonly updates: Client<typeof UpdatesService>;
  readonly downloads: Client<typeof DownloadsService>;
  readonly admin: Client<typeof UpdatesAdminService>;
  /** Time of the service; milliseconds since 1970. */
  nowMs = Date.now();
  /** The write at which the service crashes next (process/testing/crash-points.ts). */
  cutAt: string | undefined;
  bed!: TestBed;
  readonly #channel = new LocalChannel();
  readonly #env: Record<string, string>;
  readonly #more: Partial<SealingContext>;
  readonly #contents: RunningContentChecks | undefined;
  #service!: Service;

  /**
   * `ownProcesses`: files are checked as in production, each in a separate process. `contents`: the checks to use
   * otherwise.
   */
  constructor(
    env: Record<string, string> = {},
    {
      ownProcesses = false,
      contents = checksHere,
      ...more
    }: Pick<Partial<SealingContext>, 'logger'> & {
      ownProcesses?: boolean;
      contents?: RunningContentChecks;
    } = {},
  ) {
    this.#env = env;
    this.#more = more;
    this.#contents = ownProcesses ? undefined : contents;
    this.updates = createClient(UpdatesService, this.#channel, longDeadline);
    this.downloads = createClient(DownloadsService, this.#channel, longDeadline);
    this.admin = createClient(UpdatesAdminService, this.#channel, longDeadline);
    this.devices.developers.set('client-a', 'dev-a').set('client-b', 'dev-b');
  }

  get service(): Service {
    return this.#service;
  }

  async start(): Promise<this> {
    this.bed = openTestBed('updates', { directory: this.directory });
    const env = {
      DATA_DIR: this.directory,
      UPDATES_LISTEN: '127.0.0.1:0',
      UPDATES_SWEEP_INTERVAL_MS: '20',
      ...this.#env,
    };
    this.metrics.clear();
    this.#service = buildUpdates(
      this.bed.context(
        {
          channel: () => this.#channel,
          clock: { now: () => this.nowMs },
          metrics: this.metrics,
          instanceId: randomUUID(),
          ...this.#more,
        },
        () => this,
      ),
      readConfig(updatesConfig, env),
      this.#contents,
    );
    this.#channel.register([...this.devices.bindings, ...this.#service.rpc, ...this.#service.admin]);
    await this.#service.start();
    return this;
  }

  /** Why the service is not ready. */
  notReady(): string | undefined {
    return this.#service.notReady?.();
  }

  /** Ends the service and starts it again on the same data. */
  async restart(): Promise<void> {
    await this.#stop();
    await this.start();
  }

  async close(): Promise<void> {
    await this.#stop();
    rmSync(this.directory, { recursive: true });
  }

  async #stop(): Promise<void> {
    await this.#service.stop();
    await this.bed.close();
  }
}

/** The caller of a call of developer a or b, with an Idempotency-Key if one is given. */
export function callerOf(developer: 'a' | 'b' = 'a', key?: string, body = 1) {
  return {
    clientId: `client-${developer}`,
    applicationId: 'app',
    ...(key && { idempotency: { key, method: 'POST', path: '/p', bodySha256: new Uint8Array([body]) } }),
  };
}
