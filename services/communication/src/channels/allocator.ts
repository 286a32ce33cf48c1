import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { allocatePlaces, type Place, reservationOf, takenAt } from '../domain/places.ts';
import { defaultVersion } from '../domain/versions.ts';
import type { Channel, ChannelStore } from '../ports/channel-store.ts';
import type { EndpointStore, EndpointWithPlaces } from '../ports/endpoint-store.ts';

/** The request for a new channel. */
export interface ChannelRequest {
  readonly channelId: string;
  readonly applicationId: string;
  /** Empty for the default version. */
  readonly soraVersion: string;
}

interface Waiting {
  readonly request: ChannelRequest;
  readonly resolve: (channel: Channel) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum rounds of a batch that loses its conditional updates to other instances. */
const mostRounds = 50;
const retryAfterMs = 5000;

/**
 * Allocates endpoints to channels. Concurrent calls form a batch: the endpoints are read once, each endpoint's places
 * are taken by one conditional update, and the channels are stored in one write. So concurrent callers neither compete
 * nor unbalance the endpoints. Between instances the conditional update decides, and calls that lost are allocated
 * again.
 */
export class ChannelAllocator {
  readonly #endpoints: EndpointStore;
  readonly #channels: ChannelStore;
  readonly #clock: Clock;
  readonly #reservationMs: number;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(options: {
    endpoints: EndpointStore;
    channels: ChannelStore;
    clock: Clock;
    reservationMs: number;
  }) {
    this.#endpoints = options.endpoints;
    this.#channels = options.channels;
    this.#clock = options.clock;
    this.#reservationMs = options.reservationMs;
  }

  /**
   * Idempotent by channel id. Throws `invalid_body` for an unknown version and `unavailable` when every endpoint is
   * full. In both cases nothing is stored.
   */
  create(request: ChannelRequest): Promise<Channel> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#serve(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = false;
  }

  async #serve(batch: readonly Waiting[]): Promise<void> {
    let open = batch;
    const placed = new Map<Waiting, EndpointWithPlaces>();
    const [configured, seen] = await Promise.all([
      this.#endpoints.defaultVersion(),
      this.#endpoints.enabled(),
    ]);
    let endpoints = seen;
    for (let round = 0; open.length > 0; round += 1) {
      if (round === mostRounds) {
        const version = versionOf(endpoints, configured);
        for (const { request, reject } of open) reject(allFull(version(request)));
        break;
      }
      if (round > 0) endpoints = await this.#endpoints.enabled();
      const nowMs = this.#clock.now();
      // A repeat after a crash finds the place that the first run took.
      for (const waiting of open) {
        const id = reservationOf(waiting.request.channelId);
        const isHeld = (place: Place) => place.id === id && place.untilMs > nowMs;
        const held = endpoints.find(({ places }) => places.some(isHeld));
        if (held) placed.set(waiting, held);
      }
      open = open.filter((waiting) => !placed.has(waiting));
      open = await this.#place(open, endpoints, configured, placed, nowMs);
    }
    await this.#store(placed);
  }

  /**
   * One attempt. Returns the calls that lost their endpoint to another instance, or that need expired places. Expired
   * places are cleared concurrently; only calls that need these places wait for that.
   */
  async #place(
    open: readonly Waiting[],
    endpoints: readonly EndpointWithPlaces[],
    configured: string | undefined,
    placed: Map<Waiting, EndpointWithPlaces>,
    nowMs: number,
  ): Promise<Waiting[]> {
    const lost: Waiting[] = [];
    const stale = ({ places }: EndpointWithPlaces) => places.length - takenAt(places, nowMs);
    const requested = versionOf(endpoints, configured);
    const byVersion = Map.groupBy(open, ({ request }) => requested(request));
    const chosen = new Map<EndpointWithPlaces, Waiting[]>();
    for (const [version, waiting] of byVersion) {
      const fitting = endpoints.filter(({ soraVersion }) => soraVersion === version);
      if (endpoints.length === 0 && version === '') {
        for (const { reject } of waiting) reject(noneRegistered());
        continue;
      }
      if (fitting.length === 0 && version !== '') {
        for (const { reject } of waiting) reject(unknownVersion(version));
        continue;
      }
      const capacities = fitting.map((endpoint) => ({
        endpointId: endpoint.endpointId,
        // Expired places do not count, but stay in the set until they are cleared.
        limit: endpoint.connectionLimit - stale(endpoint),
        taken: takenAt(endpoint.places, nowMs),
      }));
      for (const [i, endpointId] of allocatePlaces(capacities, waiting.length).entries()) {
        const one = waiting[i] as Waiting;
        const endpoint = fitting.find((candidate) => candidate.endpointId === endpointId);
        if (endpoint) chosen.set(endpoint, [...(chosen.get(endpoint) ?? []), one]);
        else if (fitting.some(stale)) lost.push(one);
        else one.reject(allFull(version));
      }
    }
    const untilMs = nowMs + this.#reservationMs;
    await Promise.all([
      ...endpoints.filter(stale).map(({ endpointId }) => this.#endpoints.clear(endpointId, nowMs)),
      ...[...chosen].map(async ([endpoint, waiting]) => {
        const places = waiting.map(({ request }) => ({ id: reservationOf(request.channelId), untilMs }));
        if (await this.#endpoints.take(endpoint, places)) {
          for (const one of waiting) placed.set(one, endpoint);
        } else lost.push(...waiting);
      }),
    ]);
    return lost;
  }

  async #store(placed: ReadonlyMap<Waiting, EndpointWithPlaces>): Promise<void> {
    if (placed.size === 0) return;
    const channels = [...placed].map(([{ request }, { endpointId, signalingUrl }]) => ({
      ...{ channelId: request.channelId, applicationId: request.applicationId },
      ...{ endpointId, endpointUrl: signalingUrl },
    }));
    const known = await this.#channels.insert(channels, this.#clock.now());
    let position = 0;
    for (const [waiting, { endpointId }] of placed) {
      const channel = channels[position++] as Channel;
      if (!known.has(channel.channelId)) waiting.resolve(channel);
      else await this.#settle(waiting, endpointId);
    }
  }

  /** Returns the endpoint of another run of the same call if that run was first, and frees this run's place. */
  async #settle({ request, resolve, reject }: Waiting, endpointId: string): Promise<void> {
    const first = await this.#channels.get(request.channelId);
    if (!first) return reject(allFull(request.soraVersion));
    if (first.endpointId !== endpointId) {
      await this.#endpoints.free(endpointId, reservationOf(request.channelId));
    }
    resolve(first);
  }
}

/** The Sora version that a channel needs; empty if there is no endpoint. */
function versionOf(
  endpoints: readonly EndpointWithPlaces[],
  configured: string | undefined,
): (request: ChannelRequest) => string {
  const versions = endpoints.map(({ soraVersion }) => soraVersion);
  return ({ soraVersion }) => soraVersion || (defaultVersion(versions, configured) ?? '');
}

function allFull(version: string): DomainError {
  const which = version === '' ? '' : ` of the Sora version ${version}`;
  return new DomainError('unavailable', `Every endpoint${which} has reached its connection limit.`, {
    retryAfterMs,
  });
}

/** The call may be repeated, because an operator may register an endpoint at any time. */
function noneRegistered(): DomainError {
  return new DomainError('unavailable', 'No endpoint is registered.', { retryAfterMs });
}

function unknownVersion(version: string): DomainError {
  return new DomainError('invalid_body', `/soraVersion ${JSON.stringify(version)} is not available.`);
}
