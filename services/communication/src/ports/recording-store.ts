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
