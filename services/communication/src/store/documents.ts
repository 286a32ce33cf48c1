import { type OwingDocument, owingIndex } from '@headset-cloud/kit/audit/record.ts';
import { idempotencyIndexes } from '@headset-cloud/kit/idempotency.ts';
import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';
import type { Place } from '../domain/places.ts';
import type { RecordingState } from '../domain/recording.ts';

export interface EndpointDocument extends OwingDocument {
  _id: string;
  signalingUrl: string;
  soraVersion: string;
  connectionLimit: number;
  /** Empty: no recordings. */
  archiveUrl: string;
  /** SHA-256 of the webhooks' bearer token, hexadecimal. */
  secretHash: string;
  /** False: no new channels; existing ones continue. */
  enabled: boolean;
  /** Reservations and connections, each with its expiry; there are no counters (rule B11). */
  places: Place[];
}

/** The one document `default`. */
export interface SettingsDocument extends OwingDocument {
  _id: string;
  soraVersion: string;
}

export interface ChannelDocument {
  _id: string;
  /** Empty: an operator has had it forgotten (ADR 0047), and events are kept without their content. */
  applicationId: string;
  endpointId: string;
  /** The endpoint URL that the integrator got. */
  endpointUrl: string;
  /** Sequence number of the channel's newest event. */
  eventSeq: number;
  createdAt: Date;
  expiresAt: Date;
}

/** One received webhook: durable before Sora is answered, then applied and published. */
export interface EventDocument {
  /** `eventKey`. */
  _id: string;
  endpointId: string;
  channelId: string;
  /** Empty: the channel is not known, recorded and not forwarded; or its application is forgotten. */
  applicationId: string;
  seq: number;
  arrivedAtMs: number;
  /** When the channel was made; absent: the channel is not known, or release 0.1.0 stored it. */
  channelCreatedAtMs?: number;
  /** The webhook's body. */
  body: string;
  /** Its trace; absent: none. */
  traceparent?: string;
  /** When the sweeper processes it; absent: it is done. */
  dueAtMs?: number;
  expiresAt: Date;
}

/** The state of a connection; also keeps a late 'created' event from taking a place again. */
export interface ConnectionDocument {
  /** Connection id. */
  _id: string;
  channelId: string;
  createdAtMs?: number;
  destroyed?: boolean;
  /** The verified device; null: none that belongs to the channel's application. */
  deviceId?: string | null;
  /** Time of its last event; milliseconds since 1970. */
  lastAtMs?: number;
  /** When it counts as silent; absent: it is not watched. Milliseconds since 1970. */
  silentAtMs?: number;
  /** The part of its time that is being billed, although no 'destroyed' event came. */
  billing?: { fromMs: number; toMs: number };
  /** Its time is billed until then. */
  billedToMs?: number;
  expiresAt: Date;
}

export interface RecordingDocument extends RecordingState {
  /** Sora's recording id. */
  _id: string;
  /** When it is due next; absent: it has ended and its notification is published. */
  dueAtMs?: number;
  /** Id of the claim of the instance that works on it. */
  claim?: string;
  /** Signed URLs, sealed, base64. */
  urls?: string;
  /** The notification is owed. */
  owed: boolean;
  /** Trace of its last webhook; absent: none. */
  traceparent?: string;
  expiresAt?: Date;
}

export const collections = {
  endpoints: 'endpoints',
  settings: 'settings',
  channels: 'channels',
  events: 'events',
  connections: 'connections',
  recordings: 'recordings',
  idempotency: 'idempotency',
} as const;

const expiry: IndexDescription = { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 };

/** Made by step 1 (steps.ts); every query of this service uses one of them or `_id`. */
export const communicationIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.endpoints]: [{ name: 'enabled', key: { enabled: 1, _id: 1 } }],
  [collections.channels]: [expiry],
  [collections.events]: [
    { name: 'due', key: { dueAtMs: 1 }, sparse: true },
    { name: 'channel', key: { channelId: 1, seq: 1 } },
    expiry,
  ],
  [collections.connections]: [expiry],
  [collections.recordings]: [
    { name: 'due', key: { dueAtMs: 1 }, sparse: true },
    { name: 'created', key: { createdAtMs: -1 } },
    { name: 'application', key: { applicationId: 1, createdAtMs: -1 } },
    { ...expiry, sparse: true },
  ],
  [collections.idempotency]: idempotencyIndexes,
};

/** The collections whose documents owe records of changes; their index is made by step 2. */
export const owingCollections = [collections.endpoints, collections.settings] as const;

export const owingIndexes: Readonly<Record<string, IndexDescription[]>> = Object.fromEntries(
  owingCollections.map((name) => [name, [owingIndex]]),
);

/**
 * Finds the channels of an application, to forget them (ADR 0047). A channel is made for hours of meetings, so the
 * index costs little beside its events.
 */
export const channelsOfApplicationIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.channels]: [{ name: 'application', key: { applicationId: 1, _id: 1 } }],
};

/** Finds silent connections, to bill them. */
export const silentIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.connections]: [{ name: 'silent', key: { silentAtMs: 1 }, sparse: true }],
};

/** Finds the connections of a device, to forget them (ADR 0047). */
export const forgetIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.connections]: [{ name: 'device', key: { deviceId: 1, _id: 1 } }],
};
