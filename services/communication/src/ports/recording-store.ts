import type { RecordingEvent, RecordingState, UploadFile } from '../domain/recording.ts';
import type { SignedUrls } from '../domain/signed-urls.ts';

export interface Recording extends RecordingState {
  readonly recordingId: string;
  /** True if the notification is not published yet. */
  readonly notificationPending: boolean;
  /** Trace of the recording's last webhook, as a W3C traceparent; empty if there is none. */
  readonly traceparent: string;
}

/** An instance's claim on a recording. Every change is made only while the claim is held. */
export interface Claim {
  readonly recordingId: string;
  readonly claim: string;
}

export type RecordingChange = Partial<RecordingState> & { readonly notificationPending?: boolean };

/** States of open recordings. `untold`: the recording has ended, but its notification is not published yet. */
export const openRecordingStates = ['waiting', 'uploading', 'untold'] as const;

/** Number of open recordings, and the time of the first event of the oldest recording. */
export type RecordingBacklog = Readonly<
  Record<(typeof openRecordingStates)[number], { count: number; oldestCreatedAtMs: number | undefined }>
>;

export interface RecordingStore {
  /**
   * Adds the content of an event. A repeat changes nothing. A complete recording is due at once, any other recording at
   * `waitUntilMs`. After the upload has begun, events change nothing.
   */
  addEvent(
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
  /** Returns false if the claim is lost. */
  change(claim: Claim, change: RecordingChange): Promise<boolean>;
  /** Releases the claim; the recording is due again at `dueAtMs`. */
  release(claim: Claim, dueAtMs: number, nowMs: number): Promise<void>;
  /** Makes recordings due now whose due time is after `latestMs`: a wrong clock wrote it. */
  resetFutureDueTimes(latestMs: number, nowMs: number): Promise<void>;
  /** Stores newly issued URLs with the files' new state. */
  issue(claim: Claim, urls: SignedUrls, files: readonly UploadFile[]): Promise<boolean>;
  urls(recordingId: string): Promise<SignedUrls | undefined>;
  /**
   * Stores the tag of a sent part of the file at `index`. Parts are numbered from 0. Returns false if the claim is
   * lost.
   */
  partSent(claim: Claim, index: number, part: number, tag: string): Promise<boolean>;
  /** Marks a recording as ended and its notification as published. */
  finished(claim: Claim, nowMs: number): Promise<void>;
}
