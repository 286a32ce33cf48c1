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

interface PendingCall {
  readonly request: ChannelRequest;
  readonly resolve: (channel: Channel) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of attempts of a batch whose conditional updates fail because other instances were first. */
const maxRounds = 50;
const retryAfterMs = 5000;

/**
 * Allocates endpoints to channels. Concurrent calls form a batch: the endpoints are read once, one conditional update
 * per endpoint takes the places, and one write stores the channels. So calls of one instance do not compete for places,
 * and the endpoints stay balanced. If another instance has changed an endpoint in the meantime, the conditional update
 * fails, and its calls are allocated again.
 */
export class ChannelAllocator {
  readonly #endpoints: EndpointStore;
  readonly #channels: ChannelStore;
  readonly #clock: Clock;
  readonly #reservationMs: number;
  #waiting: PendingCall[] = [];
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
        await this.#allocate(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = false;
  }

  async #allocate(batch: readonly PendingCall[]): Promise<void> {
    let unplaced = batch;
    const placed = new Map<PendingCall, EndpointWithPlaces>();
    const [configured, enabled] = await Promise.all([
      this.#endpoints.defaultVersion(),
      this.#endpoints.enabled(),
    ]);
    let endpoints = enabled;
    for (let round = 0; unplaced.length > 0; round += 1) {
      if (round === maxRounds) {
        const version = versionOf(endpoints, configured);
        for (const { request, reject } of unplaced) reject(allFull(version(request)));
        break;
      }
      if (round > 0) endpoints = await this.#endpoints.enabled();
      const nowMs = this.#clock.now();
      // If a call is repeated after a crash, its place may be reserved already.
      for (const waiting of unplaced) {
        const id = reservationOf(waiting.request.channelId);
        const isHeld = (place: Place) => place.id === id && place.untilMs > nowMs;
        const held = endpoints.find(({ places }) => places.some(isHeld));
        if (held) placed.set(waiting, held);
      }
      unplaced = unplaced.filter((waiting) => !placed.has(waiting));
      unplaced = await this.#tryReserve(unplaced, endpoints, configured, placed, nowMs);
    }
    await this.#store(placed);
  }

  /**
   * One attempt to reserve places. Adds the successful calls to `placed`. Rejects the calls that cannot succeed.
   * Returns the calls to try again: another instance was first, or only expired places are free. Expired places are
   * removed at the same time.
   */
  async #tryReserve(
    unplaced: readonly PendingCall[],
    endpoints: readonly EndpointWithPlaces[],
    configured: string | undefined,
    placed: Map<PendingCall, EndpointWithPlaces>,
    nowMs: number,
  ): Promise<PendingCall[]> {
    const retry: PendingCall[] = [];
    const expiredCount = ({ places }: EndpointWithPlaces) => places.length - takenAt(places, nowMs);
    const requested = versionOf(endpoints, configured);
    const byVersion = Map.groupBy(unplaced, ({ request }) => requested(request));
    const byEndpoint = new Map<EndpointWithPlaces, PendingCall[]>();
    for (const [version, waiting] of byVersion) {
      const ofVersion = endpoints.filter(({ soraVersion }) => soraVersion === version);
      if (endpoints.length === 0 && version === '') {
        for (const { reject } of waiting) reject(noneRegistered());
        continue;
      }
      if (ofVersion.length === 0 && version !== '') {
        for (const { reject } of waiting) reject(unknownVersion(version));
        continue;
      }
      const capacities = ofVersion.map((endpoint) => ({
        endpointId: endpoint.endpointId,
        // Expired places are free, but cannot be used before they are removed from the set.
        limit: endpoint.connectionLimit - expiredCount(endpoint),
        taken: takenAt(endpoint.places, nowMs),
      }));
      for (const [i, endpointId] of allocatePlaces(capacities, waiting.length).entries()) {
        const call = waiting[i] as PendingCall;
        const endpoint = ofVersion.find((candidate) => candidate.endpointId === endpointId);
        if (endpoint) byEndpoint.set(endpoint, [...(byEndpoint.get(endpoint) ?? []), call]);
        else if (ofVersion.some(expiredCount)) retry.push(call);
        else call.reject(allFull(version));
      }
    }
    const untilMs = nowMs + this.#reservationMs;
    await Promise.all([
      ...endpoints.filter(expiredCount).map(({ endpointId }) => this.#endpoints.clear(endpointId, nowMs)),
      ...[...byEndpoint].map(async ([endpoint, waiting]) => {
        const places = waiting.map(({ request }) => ({ id: reservationOf(request.channelId), untilMs }));
        if (await this.#endpoints.take(endpoint, places)) {
          for (const call of waiting) placed.set(call, endpoint);
        } else retry.push(...waiting);
      }),
    ]);
    return retry;
  }

  async #store(placed: ReadonlyMap<PendingCall, EndpointWithPlaces>): Promise<void> {
    if (placed.size === 0) return;
    const channels = [...placed].map(([{ request }, { endpointId, signalingUrl }]) => ({
      ...{ channelId: request.channelId, applicationId: request.applicationId },
      ...{ endpointId, endpointUrl: signalingUrl },
    }));
    const existing = await this.#channels.insert(channels, this.#clock.now());
    let position = 0;
    for (const [waiting, { endpointId }] of placed) {
      const channel = channels[position++] as Channel;
      if (!existing.has(channel.channelId)) waiting.resolve(channel);
      else await this.#useStored(waiting, endpointId);
    }
  }

  /** Another run of the same call has stored the channel. Returns that channel, and frees the place of this run. */
  async #useStored({ request, resolve, reject }: PendingCall, endpointId: string): Promise<void> {
    const stored = await this.#channels.get(request.channelId);
    if (!stored) return reject(allFull(request.soraVersion));
    if (stored.endpointId !== endpointId) {
      await this.#endpoints.free(endpointId, reservationOf(request.channelId));
    }
    resolve(stored);
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
