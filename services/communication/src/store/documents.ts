import { type PendingAuditFields, pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { idempotencyIndexes } from '@headset-cloud/rules/idempotency.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Place } from '../domain/places.ts';
import type { RecordingState } from '../domain/recording.ts';

export interface EndpointDocument extends PendingAuditFields {
  _id: string;
  signalingUrl: string;
  soraVersion: string;
  connectionLimit: number;
  /** Empty if the endpoint stores no recordings. */
  archiveUrl: string;
  /** SHA-256 of the webhooks' bearer token, hexadecimal. */
  secretHash: string;
  /** False: no new channels are allocated; existing channels continue. */
  enabled: boolean;
  /** Reservations and connections, each with its expiry; there are no counters (rule B11). */
  places: Place[];
}

/** The one document `default`. */
export interface SettingsDocument extends PendingAuditFields {
  _id: string;
  soraVersion: string;
}

export interface ChannelDocument {
  _id: string;
  /**
   * Empty if an operator has removed the application's data (ADR 0047). Later events are stored without their content.
   */
  applicationId: string;
  endpointId: string;
  /** The endpoint URL that was returned to the integrator. */
  endpointUrl: string;
  /** Sequence number of the channel's newest event. */
  eventSeq: number;
  createdAt: Date;
  expiresAt: Date;
}

/** One received webhook: stored before Sora gets the response, then applied and published. */
export interface EventDocument {
  /** `eventKey`. */
  _id: string;
  endpointId: string;
  channelId: string;
  /**
   * Empty if the channel is not known, or if the application's data was removed. The event is then stored and not
   * forwarded.
   */
  applicationId: string;
  seq: number;
  arrivedAtMs: number;
  /** Creation time of the channel. Absent: the channel is not known, or release 0.1.0 stored the event. */
  channelCreatedAtMs?: number;
  /** The webhook's body. */
  body: string;
  /** The webhook's trace; absent if there is none. */
  traceparent?: string;
  /** Time at which the sweeper processes the event; absent when it is finished. */
  dueAtMs?: number;
  expiresAt: Date;
}

/**
 * State of a connection. After the connection has ended, it prevents a late 'created' event from taking a place
 * again.
 */
export interface ConnectionDocument {
  /** Connection id. */
  _id: string;
  channelId: string;
  createdAtMs?: number;
  destroyed?: boolean;
  /** The verified device; null if the connection has no device of the channel's application. Absent until decided. */
  deviceId?: string | null;
  /** Time of the last event; milliseconds since 1970. */
  lastAtMs?: number;
  /**
   * Time from which the connection counts as silent; milliseconds since 1970. Absent if nothing is to be billed until
   * the next event.
   */
  silentAtMs?: number;
  /** The part of its time that is being billed without a 'destroyed' event. */
  billing?: { fromMs: number; toMs: number };
  /** Time up to which the connection is billed. */
  billedToMs?: number;
  expiresAt: Date;
}

export interface RecordingDocument extends RecordingState {
  /** Sora's recording id. */
  _id: string;
  /** Time at which a worker continues the recording. Absent: it has ended and its notification is published. */
  dueAtMs?: number;
  /** Id of the current claim; absent if no instance works on the recording. */
  claim?: string;
  /** Signed URLs, sealed, base64. */
  urls?: string;
  /** True if the notification is not published yet. */
  owed: boolean;
  /** Trace of the recording's last webhook; absent if there is none. */
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

/** Created by step 1 (steps.ts). Every query of this service uses one of these indexes or `_id`. */
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

/** Collections whose documents have pending audit records; their index is created by step 2. */
export const auditedCollections = [collections.endpoints, collections.settings] as const;

export const pendingAuditIndexes: Readonly<Record<string, IndexDescription[]>> = Object.fromEntries(
  auditedCollections.map((name) => [name, [pendingAuditIndex]]),
);

/**
 * Indexes that find the channels of an application, to forget them (ADR 0047). A channel serves hours of meetings, so
 * the index costs little compared with its events.
 */
export const channelsOfApplicationIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.channels]: [{ name: 'application', key: { applicationId: 1, _id: 1 } }],
};

/** Indexes that find silent connections, to bill them. */
export const silentIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.connections]: [{ name: 'silent', key: { silentAtMs: 1 }, sparse: true }],
};

/** Indexes that find the connections of a device, to forget them (ADR 0047). */
export const forgetIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.connections]: [{ name: 'device', key: { deviceId: 1, _id: 1 } }],
};
