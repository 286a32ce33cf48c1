import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type {
  CurrentActivationSchema,
  OfferSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import {
  type GetUploadUrlRequest,
  type GetUploadUrlResponseSchema,
  HeadsetFilesService,
  HeadsetKeysService,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import {
  type AcceptRequest,
  type AcceptResponseSchema,
  DeliveryJudgeService,
  type HeadsetOnlineRequest,
  type HeadsetOnlineResponseSchema,
  type ReadOffersRequest,
  type ReadOffersResponseSchema,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import {
  DownloadsService,
  type GetDownloadUrlRequest,
  type GetDownloadUrlResponseSchema,
} from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { GrpcChannel, RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bind, type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { type Clock, systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import jwt from 'jsonwebtoken';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { buildDeviceLink } from '../build.ts';
import { type DeviceLinkConfig, deviceLinkConfig } from '../config.ts';
import { RawHeadset } from './raw-headset.ts';

/** Longer than a call takes on a slow machine: only the test's own limit ends a hanging call. */
const patient = { deadlineMs: 60_000 };

export const deviceId = '350000000000018';
export const otherDeviceId = '350000000000026';

/** One device-link of a world. */
export interface Instance {
  readonly service: ReturnType<typeof buildDeviceLink>;
  readonly delivery: Client<typeof DeliveryService>;
  /** Dispatches offers in one call. Returns the epochs of the sessions that accepted them; throws the first failure. */
  dispatch(deviceId: string, ...offers: readonly MessageInitShape<typeof OfferSchema>[]): Promise<bigint[]>;
  /** Closes the port for other instances, as if its network failed; timers continue. */
  cutOff(): Promise<void>;
  /** The store of the instance does not answer until the returned function is called. */
  stallStore(): () => void;
  /** Number of store operations that wait for a stalled store. */
  waitingForStore(): number;
}

/** A clock with a wrong or stepping wall clock and correct durations. A test can let time pass. */
export class WrongClock implements Clock {
  offsetMs: number;
  /** Time that has passed in the test only; milliseconds. */
  elapsedMs = 0;
  constructor(offsetMs: number) {
    this.offsetMs = offsetMs;
  }
  now(): number {
    return Date.now() + this.elapsedMs + this.offsetMs;
  }
  monotonicNow(): number {
    return performance.now() + this.elapsedMs;
  }
}

/** A clock that a test can move. */
export class MovableClock implements Clock {
  offsetMs = 0;
  now(): number {
    return Date.now() + this.offsetMs;
  }
}

/** Returns the result of `work`. Until then, time passes a second at a time while `waits` returns true. */
export async function passUntil<T>(
  time: FakeTime,
  work: Promise<T>,
  waits: () => boolean = () => true,
): Promise<T> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  work.then(end, end);
  await waitFor('the end of the work', async () => {
    if (!ended && waits()) await time.advance(1000);
    return ended;
  });
  return work;
}

const isFake = (time: Time): time is FakeTime => 'advance' in time;

/** A real store and log in a temporary folder; the test plays transactions and devices. */
export class World {
  readonly clock = new MovableClock();
  readonly metrics = new Registry();
  /** Parsed log lines of all instances. */
  readonly lines: Record<string, unknown>[] = [];
  /** Calls to transactions, and its answers. */
  readonly online: HeadsetOnlineRequest[] = [];
  readonly accepts: AcceptRequest[] = [];
  onOnline: (request: HeadsetOnlineRequest) => Promise<MessageInitShape<typeof HeadsetOnlineResponseSchema>> =
    async () => ({});
  onAccept: (request: AcceptRequest) => Promise<MessageInitShape<typeof AcceptResponseSchema>> =
    async () => ({
      start: true,
    });
  /** Reads of offers by id, and the answers. */
  readonly reads: ReadOffersRequest[] = [];
  onRead: (request: ReadOffersRequest) => Promise<MessageInitShape<typeof ReadOffersResponseSchema>> =
    async ({ transactionIds }) => ({
      offers: transactionIds.map((transactionId) => ({ transactionId, operation: {} })),
      answered: transactionIds.length,
    });
  /** Requests for URLs to updates and devices, and their answers. */
  readonly downloads: GetDownloadUrlRequest[] = [];
  readonly uploads: GetUploadUrlRequest[] = [];
  onDownload: (
    request: GetDownloadUrlRequest,
  ) => Promise<MessageInitShape<typeof GetDownloadUrlResponseSchema>> = async () => ({});
  onUpload: (
    request: GetUploadUrlRequest,
    signal: AbortSignal,
  ) => Promise<MessageInitShape<typeof GetUploadUrlResponseSchema>> = async () => ({});
  /** Device ids of activation reads, and the answers of devices. */
  readonly activationReads: string[] = [];
  onActivation: (
    deviceId: string,
    signal: AbortSignal,
  ) => Promise<MessageInitShape<typeof CurrentActivationSchema> | undefined> = async () => ({
    ...{ epoch: 1n, revision: 1n },
  });
  /** Public keys by device and key id; undefined: devices is unavailable. */
  keys: Record<string, Record<string, string>> | undefined = {};
  /** Number of reads of a device's keys. */
  keyReads = 0;
  /** Number of checks whether keys are still registered. */
  keyChecks = 0;
  /** Devices that the next check reports as having just lost a key. */
  recentRemovals: string[] = [];
  /** The write at which the service crashes next (process/testing/crash-points.ts). */
  cutAt: string | undefined;
  /** While true, publishing fails as if the log were unavailable. */
  logUnavailable = false;
  /** While set, publishing waits for this promise. */
  logHeld: Promise<void> | undefined;
  /** Number of publishes that have begun. */
  publishes = 0;
  readonly bed = openTestBed('device-link');
  readonly #channel = new LocalChannel();
  readonly #privateKeys = new Map<string, KeyObject>();
  readonly #cleanups: (() => Promise<void> | void)[] = [];

  constructor() {
    this.#channel.register([
      bind(DeliveryJudgeService, {
        headsetOnline: async (request) => {
          this.online.push(request);
          return await this.onOnline(request);
        },
        accept: async (request) => {
          this.accepts.push(request);
          return await this.onAccept(request);
        },
        readOffers: async (request) => {
          this.reads.push(request);
          return await this.onRead(request);
        },
      }),
      bind(DownloadsService, {
        getDownloadUrl: async (request) => {
          this.downloads.push(request);
          return await this.onDownload(request);
        },
      }),
      bind(HeadsetFilesService, {
        getUploadUrl: async (request, { signal }) => {
          this.uploads.push(request);
          return await this.onUpload(request, signal);
        },
      }),
      bind(HeadsetKeysService, {
        getCurrentActivation: async ({ deviceId: id }, { signal }) => {
          this.activationReads.push(id);
          return { activation: await this.onActivation(id, signal) };
        },
        getHeadsetKeys: async ({ deviceId: id }) => {
          this.keyReads += 1;
          if (!this.keys) throw new DomainError('unavailable', 'away');
          return { publicKeys: this.keys[id] ?? {} };
        },
        checkHeadsetKeys: async ({ keys, withRecent }) => {
          this.keyChecks += 1;
          const registered = this.keys;
          if (!registered) throw new DomainError('unavailable', 'away');
          const removed = keys.flatMap(({ deviceId: id, keyId }, i) => (registered[id]?.[keyId] ? [] : [i]));
          return { removed, recentDeviceIds: withRecent ? this.recentRemovals : [] };
        },
      }),
    ]);
    for (const id of [deviceId, otherDeviceId]) this.registerKey(id, 'k1');
  }

  /** Creates a key pair of a headset, registers the public key, and returns the private key. */
  registerKey(id: string, keyId: string): KeyObject {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#privateKeys.set(`${id} ${keyId}`, privateKey);
    this.keys ??= {};
    this.keys[id] = {
      ...this.keys[id],
      [keyId]: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    };
    return privateKey;
  }

  privateKey(id: string, keyId = 'k1'): KeyObject {
    return this.#privateKeys.get(`${id} ${keyId}`) as KeyObject;
  }

  token(id = deviceId): string {
    const iat = Math.floor(this.clock.now() / 1000);
    return jwt.sign({ iat, exp: iat + 60 }, this.privateKey(id), {
      algorithm: 'ES256',
      keyid: 'k1',
      subject: id,
      audience: 'headset-cloud/device-link',
    });
  }

  #logger(): Logger {
    const write = (line: string) => {
      this.lines.push(JSON.parse(line));
      if (process.env['TEST_LOG']) process.stdout.write(line);
    };
    return pino({ level: 'debug' }, { write }) as unknown as Logger;
  }

  /** Builds and starts a device-link; `fixedAddress`: advertised address instead of its own. */
  async start(
    config: Partial<DeviceLinkConfig> = {},
    fixedAddress?: string,
    clock: Clock = this.clock,
    time: Time = systemTime,
  ): Promise<Instance> {
    const defaults = readConfig(deviceLinkConfig, { DEVICE_LINK_LISTEN: '127.0.0.1:0' });
    let address = '';
    let stalled: PromiseWithResolvers<void> | undefined;
    let waitingForStore = 0;
    const store = stallable(this.bed.store, () => {
      if (stalled) waitingForStore += 1;
      return stalled?.promise;
    });
    const service = buildDeviceLink(
      this.bed.context(
        {
          clock,
          store,
          log: this.#faultyLog(),
          channel: () => this.#channel,
          channelToPeer: (address) => new GrpcChannel(address),
          logger: this.#logger(),
          metrics: this.#cleanups.length === 0 ? this.metrics : new Registry(),
          instanceId: `instance-${this.#cleanups.length}`,
        },
        () => this,
      ),
      // The address is only known once the port is, and only read when the service starts.
      Object.defineProperty({ ...defaults, ...config }, 'ADVERTISE_ADDRESS', { get: () => address }),
      time,
    );
    const server = new RpcServer(service.rpc, this.bed.logger);
    const ownPort = await server.start({ host: '127.0.0.1', port: 0 });
    address = fixedAddress ?? `127.0.0.1:${ownPort}`;
    try {
      await service.start();
    } catch (error) {
      await server.stop(100);
      throw error;
    }
    const local = new LocalChannel();
    local.register(service.rpc);
    let stopped: Promise<void> | undefined;
    const stop = service.stop.bind(service);
    service.stop = (forMs) => {
      stopped ??= stop(forMs);
      return stopped;
    };
    this.#cleanups.push(async () => {
      // A stop waits for running work.
      await (isFake(time) ? passUntil(time, service.stop()) : service.stop());
      await server.stop(100);
    });
    const delivery = createClient(DeliveryService, local, patient);
    return {
      service,
      delivery,
      async dispatch(id, ...offers) {
        const { outcomes } = await delivery.deliver({
          handOvers: offers.map((o) => ({ deviceId: id, offer: o })),
        });
        return outcomes.map(({ kind }) => {
          if (kind.case !== 'sessionEpoch') throw new Error(kind.value);
          return kind.value;
        });
      },
      cutOff: () => server.stop(100),
      stallStore: () => {
        const stall = Promise.withResolvers<void>();
        stalled = stall;
        const resume = () => {
          stalled = undefined;
          waitingForStore = 0;
          stall.resolve();
        };
        this.#cleanups.unshift(resume);
        return resume;
      },
      waitingForStore: () => waitingForStore,
    };
  }

  /** Opens a stream; with a hello when `hello` is given. `neverReads`: as in RawHeadset. */
  dial(
    instance: Instance,
    options: {
      id?: string;
      hello?: object;
      token?: string;
      beside?: RawHeadset | undefined;
      neverReads?: boolean;
    } = {},
  ): RawHeadset {
    const token = options.token ?? `Bearer ${this.token(options.id)}`;
    const { beside, neverReads } = options;
    const headset = new RawHeadset(instance.service.linkPort(), token, beside, neverReads);
    this.#cleanups.unshift(() => headset.close());
    if (options.hello) headset.hello(options.hello);
    return headset;
  }

  /** Returns the events of a report topic, oldest first. */
  async reports(topic: string = topics.transactionReports): Promise<DeviceReportEvent[]> {
    const events = await this.bed.log.readNewest(topic, 1000);
    return events.map((event) => fromBinary(DeviceReportEventSchema, event.value));
  }

  /** Returns a list to which later events of transaction reports are added. */
  async consume(): Promise<DeviceReportEvent[]> {
    const consumed: DeviceReportEvent[] = [];
    await this.bed.log.subscribe({
      topic: topics.transactionReports,
      group: 'test',
      handle: async (events) => {
        consumed.push(...events.map((event) => fromBinary(DeviceReportEventSchema, event.value)));
      },
    });
    return consumed;
  }

  async reportIds(topic?: string): Promise<number[]> {
    return (await this.reports(topic)).flatMap(({ body }) =>
      body.case === 'report' ? [Number(body.value.reportId)] : [],
    );
  }

  async close(): Promise<void> {
    this.logUnavailable = false;
    this.bed.disk.release();
    for (const cleanup of this.#cleanups) await cleanup();
    await this.bed.remove();
  }

  #faultyLog(): EventLog {
    const publish: EventLog['publish'] = async (topic, events, options) => {
      if (this.logUnavailable) throw new DomainError('unavailable', 'The log is unavailable.');
      this.publishes += 1;
      await this.logHeld;
      await this.bed.log.publish(topic, events, options);
    };
    return new Proxy(this.bed.log, {
      get: (log, name) => {
        if (name === 'publish') return publish;
        const value = Reflect.get(log, name) as unknown;
        return typeof value === 'function' ? value.bind(log) : value;
      },
    });
  }
}

/** A store whose operations wait for the promise of `until`. */
function stallable(store: Store, until: () => Promise<void> | undefined): Store {
  const waiting = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const value = Reflect.get(of, name) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const call = () => value.apply(of, args) as unknown;
          // A cursor waits when it is read.
          if (name === 'find') return waiting(call() as object);
          const stall = until();
          return stall ? stall.then(call) : call();
        };
      },
    });
  return new Proxy(store, {
    get(of, name) {
      const value = Reflect.get(of, name) as unknown;
      if (typeof value !== 'function') return value;
      return name === 'collection'
        ? (...args: unknown[]) => waiting(value.apply(of, args) as object)
        : value.bind(of);
    },
  });
}

/** An offer of a command. */
export function offer(transactionId: number, extrasJson = ''): MessageInitShape<typeof OfferSchema> {
  return {
    transactionId: BigInt(transactionId),
    operationId: 'put-v1-applications-devices-commands',
    activationEpoch: 1n,
    operation: { kind: { case: 'command', value: { package: 'com.example.app', extrasJson } } },
  };
}
