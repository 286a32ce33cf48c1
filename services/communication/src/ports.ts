import type { OwedRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Place } from './domain/places.ts';
import type { RecordingEvent, RecordingState, Setting, UploadFile } from './domain/recording.ts';
import type { SignedUrls } from './domain/signed-urls.ts';

/** A Sora endpoint, as configured by operators. */
export interface Endpoint {
  readonly endpointId: string;
  readonly signalingUrl: string;
  readonly soraVersion: string;
  readonly connectionLimit: number;
  /** Empty if the endpoint stores no recordings. */
  readonly archiveUrl: string;
}

export interface EndpointWithPlaces extends Endpoint {
  /** Includes expired places until they are cleared. */
  readonly places: readonly Place[];
}

/** The endpoints. The set of an endpoint's places is stored in its document (rule B11). */
export interface EndpointStore {
  put(
    endpoint: Endpoint,
    secretHash: string | undefined,
    record: OwedRecord,
  ): Promise<'put' | 'secret_missing'>;
  /** Stops new channels on the endpoint. False if the endpoint is not known. */
  remove(endpointId: string, record: OwedRecord): Promise<boolean>;
  /** Endpoints that accept channels, ordered by id. */
  enabled(): Promise<EndpointWithPlaces[]>;
  get(endpointId: string): Promise<Endpoint | undefined>;
  /** SHA-256 of the webhooks' secret, also of a removed endpoint. */
  secretHash(endpointId: string): Promise<string | undefined>;
  defaultVersion(): Promise<string | undefined>;
  setDefaultVersion(soraVersion: string, record: OwedRecord): Promise<void>;
  /** Removes expired places. */
  clear(endpointId: string, nowMs: number): Promise<void>;
  /**
   * Takes places in one conditional update. Succeeds only while the endpoint is enabled and neither its places have
   * grown nor its limit has changed since `seen` was read.
   */
  take(seen: EndpointWithPlaces, places: readonly Place[]): Promise<boolean>;
  /**
   * Handles an event of a living connection: renews its place, takes over its channel's reservation, or takes a new
   * place. A new place may exceed the limit, because Sora has already accepted the connection.
   */
  occupy(endpointId: string, channelId: string, connectionId: string, untilMs: number): Promise<void>;
  /** Frees a place; idempotent. */
  free(endpointId: string, placeId: string): Promise<void>;
}

export interface Channel {
  readonly channelId: string;
  readonly applicationId: string;
  readonly endpointId: string;
  readonly endpointUrl: string;
}

export interface ChannelStore {
  get(channelId: string): Promise<Channel | undefined>;
  /** Inserts channels. Returns the ids that existed already. */
  insert(channels: readonly Channel[], nowMs: number): Promise<ReadonlySet<string>>;
  /**
   * The next sequence number in the channel's order, the channel's application, and its creation time. Undefined if the
   * endpoint has no such channel.
   */
  nextEvent(
    channelId: string,
    endpointId: string,
    nowMs: number,
  ): Promise<{ seq: number; applicationId: string; createdAtMs: number } | undefined>;
}

/** A stored webhook. */
export interface StoredEvent {
  readonly key: string;
  readonly endpointId: string;
  readonly channelId: string;
  /** Empty if the channel is not known. */
  readonly applicationId: string;
  readonly seq: number;
  readonly arrivedAtMs: number;
  /** Creation time of the channel. Absent: the channel is not known, or release 0.1.0 stored the event. */
  readonly channelCreatedAtMs?: number;
  readonly body: string;
  /** The webhook's trace, as a W3C traceparent; empty if there is none. */
  readonly traceparent: string;
}

export interface EventStore {
  known(key: string): Promise<boolean>;
  /** False if the event existed already. With `dueAtMs` the sweeper processes the event from then on. */
  insert(event: StoredEvent, dueAtMs: number | undefined): Promise<boolean>;
  /** Marks the event as applied and published. */
  done(key: string): Promise<void>;
  /** Unfinished events of the channel before `seq` and not before `fromSeq`, in their order. */
  undoneBefore(channelId: string, seq: number, fromSeq?: number): Promise<StoredEvent[]>;
  /** Claims due events for one instance until `untilMs`, in the order of their channels. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<StoredEvent[]>;
  /** Makes items that are due after `latestMs` due now: no delay is that long, so a wrong clock wrote the time. */
  recall(latestMs: number, nowMs: number): Promise<void>;
}

export interface Connection {
  readonly createdAtMs: number | undefined;
  readonly destroyed: boolean;
  /** Undefined until decided. */
  readonly deviceId: string | null | undefined;
  /** Its time is billed, or is being billed, up to this time; undefined: no part. */
  readonly billedToMs: number | undefined;
}

/** A part of a connection's time that is billed without a 'destroyed' event. */
export interface SilentPart {
  readonly connectionId: string;
  readonly channelId: string;
  readonly deviceId: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** True if the part begins with the connection. */
  readonly isFirst: boolean;
}

export interface ConnectionStore {
  get(connectionId: string): Promise<Connection | undefined>;
  devices(connectionIds: readonly string[]): Promise<string[]>;
  /** Stores that the connection is alive (or has ended) and when it began. Returns the stored state. */
  note(
    connectionId: string,
    change: {
      channelId: string;
      createdAtMs: number | undefined;
      destroyed: boolean;
      /** Set for an event of the connection itself: its time, and when the connection counts as silent after it. */
      alive?: { atMs: number; silentAtMs: number };
    },
    nowMs: number,
  ): Promise<Connection>;
  /**
   * Claims connections that are silent at `nowMs` until `untilMs`. Returns the parts to bill. The same part is returned
   * again until `billed` is called.
   */
  claimSilent(nowMs: number, untilMs: number, limit: number): Promise<SilentPart[]>;
  billed(part: SilentPart): Promise<void>;
  /** Stores the first decision about the connection's device. Returns the stored decision. */
  decideDevice(connectionId: string, deviceId: string | null): Promise<string | null>;
}

export interface Recording extends RecordingState {
  readonly recordingId: string;
  /** True if the notification is not published yet. */
  readonly owed: boolean;
  /** Trace of the recording's last webhook, as a W3C traceparent; empty if there is none. */
  readonly traceparent: string;
}

/** An instance's claim on a recording. Every change is made only while the claim is held. */
export interface Claim {
  readonly recordingId: string;
  readonly claim: string;
}

export type RecordingChange = Partial<RecordingState> & { readonly owed?: boolean };

/** States of open recordings. `untold`: ended, and the notification is not published yet. */
export const openRecordingStates = ['waiting', 'uploading', 'untold'] as const;

/** Number of open recordings, and the time of the first event of the oldest recording. */
export type RecordingBacklog = Readonly<
  Record<(typeof openRecordingStates)[number], { count: number; oldestCreatedAtMs: number | undefined }>
>;

export interface RecordingStore {
  /**
   * Adds the content of an event, once. A complete recording is due at once, any other recording at `waitUntilMs`.
   * Nothing changes once the upload has begun.
   */
  note(
    event: RecordingEvent,
    of: { applicationId: string; channelId: string; endpointId: string; traceparent: string },
    nowMs: number,
    waitUntilMs: number,
  ): Promise<Recording | undefined>;
  get(recordingId: string): Promise<Recording | undefined>;
  backlog(): Promise<RecordingBacklog>;
  /** Newest first; recordings of all applications if none is named. */
  list(applicationId: string | undefined, limit: number): Promise<Recording[]>;
  /** Claims the recording that has been due for longest, except those of the applications in `except`. */
  claimDue(
    nowMs: number,
    untilMs: number,
    claim: string,
    except: { readonly applicationIds: readonly string[]; readonly recordingIds: readonly string[] },
  ): Promise<Recording | undefined>;
  renew(claim: Claim, untilMs: number): Promise<boolean>;
  /** False if the claim is lost. */
  change(claim: Claim, change: RecordingChange): Promise<boolean>;
  /** Releases the claim; the recording is due again at `dueAtMs`. */
  release(claim: Claim, dueAtMs: number, nowMs: number): Promise<void>;
  /** Makes items that are due after `latestMs` due now: no delay is that long, so a wrong clock wrote the time. */
  recall(latestMs: number, nowMs: number): Promise<void>;
  /** Stores newly issued URLs with the files' new state. */
  issue(claim: Claim, urls: SignedUrls, files: readonly UploadFile[]): Promise<boolean>;
  urls(recordingId: string): Promise<SignedUrls | undefined>;
  /** Stores that part `place` of the file at `index` was sent. False if the claim is lost. */
  partSent(claim: Claim, index: number, place: number, tag: string): Promise<boolean>;
  /** Marks a recording as ended and its notification as published. */
  finished(claim: Claim, nowMs: number): Promise<void>;
}

/** The archive server's answer about a file. */
export type ArchiveAnswer = { readonly bytes: number } | 'missing';

export interface ArchiveReader {
  /** Rejects when the server cannot answer now. */
  size(archiveUrl: string, file: string, signal: AbortSignal): Promise<ArchiveAnswer>;
}

/** Outcome of one upload. `refused`: the storage rejects this URL; `forbidden`: its address is not allowed. */
export type UploadResult =
  | { readonly outcome: 'stored'; readonly tag: string }
  | { readonly outcome: 'missing' | 'refused' | 'forbidden' | 'failed'; readonly reason: string };

export interface Uploader {
  /** Streams bytes of an archive to a signed URL. Never rejects. */
  upload(
    from: { archiveUrl: string; file: string; offset: number; bytes: number; whole: boolean },
    to: string,
    signal: AbortSignal,
  ): Promise<UploadResult>;
  close(): Promise<void>;
}

/** Reads from devices. */
export interface Devices {
  /** The application that has activated the device now; empty if there is none. */
  applicationOf(deviceId: string): Promise<string>;
  isSet(applicationId: string, setting: Setting): Promise<boolean>;
}

/** Requests signed URLs from the integrator. Rejects with a DomainError. */
export type RequestSignedUrls = (
  applicationId: string,
  setting: Setting,
  body: Uint8Array,
) => Promise<Uint8Array>;

/** A connection of a device, and the data of its events. */
export interface ConnectionOfDevice {
  readonly connectionId: string;
  /** The callbacks of its events and recordings. */
  readonly notificationIds: string[];
  /** Number of events that name the device. */
  readonly events: number;
  /** Number of events that are not processed yet. */
  readonly held: number;
}

/** Removes data that operators want forgotten (ADR 0047). */
export interface ForgetStore {
  page(deviceId: string, after: string): Promise<{ connections: ConnectionOfDevice[]; next: string }>;
  /** Empties the events of these connections of the device, and removes the device from the connections. Idempotent. */
  forget(
    deviceId: string,
    connectionIds: readonly string[],
  ): Promise<{ readonly connections: number; readonly events: number; readonly left: number }>;
}

/** Result for one page of an application's channels, followed by its recordings. */
export interface ApplicationPage {
  readonly channels: number;
  /** Number of emptied events. */
  readonly events: number;
  readonly recordings: number;
  /** Number of unprocessed events, or of recordings whose upload is running. */
  readonly held: number;
  /** Start of the next page; empty after the last page. */
  readonly next: string;
}

/** Removes data of an application that operators want forgotten (ADR 0047). */
export interface ApplicationForgetStore {
  /** Idempotent. */
  forget(applicationId: string, after: string, dryRun: boolean): Promise<ApplicationPage>;
}
