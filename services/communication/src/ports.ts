import type { Place } from './domain/places.ts';
import type { RecordingNews, RecordingState, Setting, UploadFile } from './domain/recording.ts';
import type { SignedUrls } from './domain/signed-urls.ts';

/** A Sora endpoint, as operators put it. */
export interface Endpoint {
  readonly endpointId: string;
  readonly signalingUrl: string;
  readonly soraVersion: string;
  readonly connectionLimit: number;
  /** Empty: no recordings. */
  readonly archiveUrl: string;
}

export interface EndpointWithPlaces extends Endpoint {
  /** Those that have run out included, until somebody clears them. */
  readonly places: readonly Place[];
}

/** The endpoints; the set of an endpoint's places lives in its document (rule B11). */
export interface EndpointStore {
  put(endpoint: Endpoint, secretHash: string | undefined): Promise<'put' | 'secret_missing'>;
  /** No new channels there. False: it is not known. */
  remove(endpointId: string): Promise<boolean>;
  /** Those that take channels, by id. */
  enabled(): Promise<EndpointWithPlaces[]>;
  get(endpointId: string): Promise<Endpoint | undefined>;
  /** SHA-256 of the webhooks' secret; also of a removed endpoint. */
  secretHash(endpointId: string): Promise<string | undefined>;
  defaultVersion(): Promise<string | undefined>;
  setDefaultVersion(soraVersion: string): Promise<void>;
  /** Clears the places that have run out. */
  clear(endpointId: string, nowMs: number): Promise<void>;
  /**
   * Takes places in one conditional update: only while the endpoint is enabled, has the limit that was
   * seen, and its set has not grown beyond the size that was seen.
   */
  take(seen: EndpointWithPlaces, places: readonly Place[]): Promise<boolean>;
  /**
   * A connection's sign of life: renews its place, or takes over its channel's reservation, or takes a
   * place of its own whatever the limit, for Sora has let it in.
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
  /** Answers the ids that were there already. */
  insert(channels: readonly Channel[], nowMs: number): Promise<ReadonlySet<string>>;
  /** The next place in the channel's order, and whose channel it is. Undefined: the endpoint has no such channel. */
  nextEvent(
    channelId: string,
    endpointId: string,
    nowMs: number,
  ): Promise<{ seq: number; applicationId: string } | undefined>;
}

/** A webhook as it was stored. */
export interface StoredEvent {
  readonly key: string;
  readonly endpointId: string;
  readonly channelId: string;
  /** Empty: the channel is not known. */
  readonly applicationId: string;
  readonly seq: number;
  readonly arrivedAtMs: number;
  readonly body: string;
  /** The webhook's trace, as a W3C traceparent; empty: none. */
  readonly traceparent: string;
}

export interface EventStore {
  known(key: string): Promise<boolean>;
  /** False: it was there already. With `dueAtMs` it is left to the sweeper from then on. */
  insert(event: StoredEvent, dueAtMs: number | undefined): Promise<boolean>;
  /** It is applied and published. */
  done(key: string): Promise<void>;
  /** Events of the channel that came earlier and are not done yet, in their order. */
  undoneBefore(channelId: string, seq: number): Promise<StoredEvent[]>;
  /** Leftovers, each taken by one instance for a while, in the order of their channels. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<StoredEvent[]>;
  /** What is due after `latestMs`, later than any is put off, was dated by a wrong clock: it is due now. */
  recall(latestMs: number, nowMs: number): Promise<void>;
}

export interface Connection {
  readonly createdAtMs: number | undefined;
  readonly destroyed: boolean;
  /** Undefined: not judged yet. */
  readonly deviceId: string | null | undefined;
}

export interface ConnectionStore {
  get(connectionId: string): Promise<Connection | undefined>;
  devices(connectionIds: readonly string[]): Promise<string[]>;
  /** Notes that it lives (or has ended) and when it began; answers what is known now. */
  note(
    connectionId: string,
    change: { channelId: string; createdAtMs: number | undefined; destroyed: boolean },
    nowMs: number,
  ): Promise<Connection>;
  /** Keeps the first judgement; answers it. */
  judge(connectionId: string, deviceId: string | null): Promise<string | null>;
}

export interface Recording extends RecordingState {
  readonly recordingId: string;
  /** The notification is owed. */
  readonly owed: boolean;
  /** Trace of the webhook that told of it last, as a W3C traceparent; empty: none. */
  readonly traceparent: string;
}

/** An instance's claim on a recording; every change is made only while it holds. */
export interface Claim {
  readonly recordingId: string;
  readonly claim: string;
}

export type RecordingChange = Partial<RecordingState> & { readonly owed?: boolean };

/** Recordings that are not done with; `untold`: ended, and the notification is owed. */
export const openRecordingStates = ['waiting', 'uploading', 'untold'] as const;

/** How many recordings are not done with, and since when there has been news of the oldest. */
export type RecordingBacklog = Readonly<
  Record<(typeof openRecordingStates)[number], { count: number; oldestCreatedAtMs: number | undefined }>
>;

export interface RecordingStore {
  /**
   * Adds what an event tells, once. When everything is known the recording is due at once, else at
   * `waitUntilMs`. Nothing changes once the upload has begun.
   */
  note(
    news: RecordingNews,
    of: { applicationId: string; channelId: string; endpointId: string; traceparent: string },
    nowMs: number,
    waitUntilMs: number,
  ): Promise<Recording | undefined>;
  get(recordingId: string): Promise<Recording | undefined>;
  backlog(): Promise<RecordingBacklog>;
  /** Newest first; all applications' where none is named. */
  list(applicationId: string | undefined, limit: number): Promise<Recording[]>;
  /** The recording that has been due for longest, taken by this instance; none of those in `except`. */
  claimDue(
    nowMs: number,
    untilMs: number,
    claim: string,
    except: { readonly applicationIds: readonly string[]; readonly recordingIds: readonly string[] },
  ): Promise<Recording | undefined>;
  renew(claim: Claim, untilMs: number): Promise<boolean>;
  /** False: the claim is lost. */
  change(claim: Claim, change: RecordingChange): Promise<boolean>;
  /** Gives it back, to be worked on from then on. */
  release(claim: Claim, dueAtMs: number): Promise<void>;
  /** What is due after `latestMs`, later than any is put off, was dated by a wrong clock: it is due now. */
  recall(latestMs: number, nowMs: number): Promise<void>;
  /** Keeps newly issued URLs with what they mean for the files. */
  issue(claim: Claim, urls: SignedUrls, files: readonly UploadFile[]): Promise<boolean>;
  urls(recordingId: string): Promise<SignedUrls | undefined>;
  /** Part `place` of the file at `index` is sent. False: the claim is lost. */
  partSent(claim: Claim, index: number, place: number, tag: string): Promise<boolean>;
  /** It has ended and its notification is out. */
  finished(claim: Claim, nowMs: number): Promise<void>;
}

/** What the archive's server says about a file. */
export type ArchiveAnswer = { readonly bytes: number } | 'missing';

export interface ArchiveReader {
  /** Rejects when the server cannot tell now. */
  size(archiveUrl: string, file: string, signal: AbortSignal): Promise<ArchiveAnswer>;
}

/** How one upload ended. `refused`: this URL will not do; `forbidden`: its address must not be used. */
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

/** What devices knows. */
export interface Devices {
  /** The application that has the device activated now; empty: none. */
  applicationOf(deviceId: string): Promise<string>;
  isSet(applicationId: string, setting: Setting): Promise<boolean>;
}

/** Asks the integrator; rejects with a DomainError. */
export type RequestSignedUrls = (
  applicationId: string,
  setting: Setting,
  body: Uint8Array,
) => Promise<Uint8Array>;
