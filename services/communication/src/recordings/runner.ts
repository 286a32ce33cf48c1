import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { isTransient } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { signedUrlsBody } from '../domain/callbacks.ts';
import {
  archivesOf,
  failures,
  partRange,
  planFiles,
  reportName,
  type Setting,
  settings,
} from '../domain/recording.ts';
import { readSignedUrls, type SignedUrls, withIssuedUrls } from '../domain/signed-urls.ts';
import type { ArchiveReader } from '../ports/archive-reader.ts';
import type { Devices } from '../ports/devices.ts';
import type { EndpointStore } from '../ports/endpoint-store.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Claim, Recording, RecordingChange, RecordingStore } from '../ports/recording-store.ts';
import type { RequestSignedUrls } from '../ports/request-signed-urls.ts';
import type { Uploader } from '../ports/uploader.ts';

/** Outcome of one run of a recording's upload. */
export type RunOutcome =
  | { readonly end: 'saved' }
  | { readonly end: 'failed'; readonly message: string }
  /** No notification, because no setting for recordings is set. */
  | { readonly end: 'unset' }
  /** The upload continues in a later run: after `afterMs`, or after the default pause. */
  | { readonly end: 'pause'; readonly afterMs?: number };

/** Another instance has the claim, or the service stops. A later run continues from the stored state. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

export interface RunnerOptions {
  readonly recordings: RecordingStore;
  readonly endpoints: EndpointStore;
  readonly events: Pick<EventStore, 'undoneBefore'>;
  readonly devices: Devices;
  readonly archives: ArchiveReader;
  readonly uploader: Uploader;
  readonly requestSignedUrls: RequestSignedUrls;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause after this number of consecutive failures; milliseconds. */
  readonly backoffMs: (failures: number) => number;
  /** Waits for that pause, or until the signal aborts. */
  readonly pause: (failures: number, signal: AbortSignal) => Promise<void>;
  readonly partBytes: number;
  readonly uploadAttempts: number;
  readonly signedUrlAttempts: number;
  readonly renewals: number;
  /** How long a recording waits for its report; milliseconds. */
  readonly waitMs: number;
  /** How long an upload is retried after the recording's last event; milliseconds. */
  readonly maxAgeMs: number;
}

/** Maximum time from the report's file in the archive to the arrival of its event; milliseconds. */
const reportEventMs = 30_000;

/** Thrown at any step to end the run with an outcome. */
class RunEnded extends Error {
  readonly outcome: RunOutcome;
  constructor(outcome: RunOutcome) {
    super(outcome.end);
    this.outcome = outcome;
  }
}

const failed = (message: string): RunEnded => new RunEnded({ end: 'failed', message });

/**
 * Uploads one recording to the integrator's storage, continuing an earlier run. The tag of each finished part is stored
 * before the next part begins, so that no run sends a finished part again.
 */
export async function runRecording(
  options: RunnerOptions,
  claim: Claim,
  signal: AbortSignal,
): Promise<RunOutcome> {
  try {
    return await new Run(options, claim, signal).run();
  } catch (error) {
    if (error instanceof RunEnded) return error.outcome;
    throw error;
  }
}

class Run {
  readonly #options: RunnerOptions;
  readonly #claim: Claim;
  readonly #signal: AbortSignal;
  #urls: SignedUrls | undefined;

  constructor(options: RunnerOptions, claim: Claim, signal: AbortSignal) {
    this.#options = options;
    this.#claim = claim;
    this.#signal = signal;
  }

  async run(): Promise<RunOutcome> {
    const before = await this.#read();
    const late =
      this.#options.clock.now() > (before.heardAtMs ?? before.createdAtMs) + this.#options.maxAgeMs;
    if (before.state === 'waiting' && before.reportFile === null && !late) await this.#requireReport(before);
    // From now on Sora's events do not change the recording.
    await this.#change({ state: 'uploading', attempts: before.attempts + 1 });
    let recording = await this.#read();
    if (recording.files.length === 0) recording = await this.#plan(recording, late);
    else if (late) throw failed(failures.signedUrls);
    this.#urls = await this.#options.recordings.urls(recording.recordingId);
    if (!this.#urls) recording = await this.#issue(recording);
    for (let index = 0; index < recording.files.length; index += 1) {
      await this.#sendFile(index);
    }
    return { end: 'saved' };
  }

  /**
   * Requires that the recording has ended. Sora writes the archive of a connection when the connection ends, and the
   * report when the recording ends. Pauses the run while the archive contains no report. If the report is found, its
   * event may still arrive. So the run pauses once more before it uses the report without its event.
   */
  async #requireReport({ recordingId, channelId, endpointId, reportFound }: Recording): Promise<void> {
    const { endpoints, events, archives, waitMs, logger } = this.#options;
    const archiveUrl = (await endpoints.get(endpointId))?.archiveUrl;
    if (!archiveUrl) return;
    if (reportFound) {
      // Unprocessed events may contain the report or an archive.
      if ((await events.undoneBefore(channelId, Number.MAX_SAFE_INTEGER)).length === 0) return;
      throw new RunEnded({ end: 'pause', afterMs: reportEventMs });
    }
    let answer: Awaited<ReturnType<ArchiveReader['size']>>;
    try {
      answer = await archives.size(archiveUrl, reportName(recordingId), this.#signal);
    } catch (error) {
      this.#throwIfAborted();
      logger.warn({ recordingId, err: error }, 'archive not readable, retrying later');
      throw new RunEnded({ end: 'pause' });
    }
    if (answer === 'missing') throw new RunEnded({ end: 'pause', afterMs: waitMs });
    await this.#change({ reportFound: true });
    throw new RunEnded({ end: 'pause', afterMs: Math.min(waitMs, reportEventMs) });
  }

  /** Determines the setting and the sizes of all files, and stores the files to upload. */
  async #plan(recording: Recording, late: boolean): Promise<Recording> {
    const { endpoints, archives, partBytes, logger } = this.#options;
    const { recordingId, applicationId, endpointId } = recording;
    const setting = await this.#setting(applicationId);
    await this.#change({ setting });
    const archiveUrl = (await endpoints.get(endpointId))?.archiveUrl;
    if (!archiveUrl || recording.archives.some((archive) => archive.failed)) throw failed(failures.archive);
    const names = [
      recording.reportFile ?? reportName(recordingId),
      ...archivesOf(recording).flatMap(({ jsonFile, webmFile }) => [jsonFile, webmFile]),
    ];
    const sizes = new Map<string, number>();
    for (const name of names) {
      try {
        const answer = await archives.size(archiveUrl, name, this.#signal);
        if (answer === 'missing') throw failed(failures.archive);
        sizes.set(name, answer.bytes);
      } catch (error) {
        if (error instanceof RunEnded) throw error;
        this.#throwIfAborted();
        logger.warn({ recordingId, err: error }, 'archive not readable, retrying later');
        throw late ? failed(failures.archive) : new RunEnded({ end: 'pause' });
      }
    }
    const files = planFiles(recordingId, recording, setting, partBytes, sizes);
    await this.#change({ files, partBytes });
    return this.#read();
  }

  /** The multipart setting takes precedence (specification Callbacks 3). */
  async #setting(applicationId: string): Promise<Setting> {
    const { devices } = this.#options;
    if (await devices.isSet(applicationId, settings.multi)) return settings.multi;
    if (await devices.isSet(applicationId, settings.single)) return settings.single;
    throw new RunEnded({ end: 'unset' });
  }

  /** Requests signed URLs and stores them, with the new state of unfinished files. */
  async #issue(recording: Recording): Promise<Recording> {
    const { requestSignedUrls, recordings, signedUrlAttempts, logger } = this.#options;
    const { recordingId, applicationId, setting, urlFailures } = recording;
    const body = Buffer.from(JSON.stringify(signedUrlsBody(recordingId, recording)));
    let answer: Uint8Array;
    try {
      answer = await requestSignedUrls(applicationId, setting as Setting, body);
    } catch (error) {
      this.#throwIfAborted();
      logger.warn({ recordingId, err: error }, 'no signed URLs were issued');
      // An outage of the platform itself does not count as the integrator's failure.
      if (isTransient(error))
        throw new RunEnded({ end: 'pause', afterMs: this.#options.backoffMs(urlFailures + 1) });
      const unset = (error as { code?: unknown }).code === 'destination_not_set';
      if (unset || urlFailures + 1 >= signedUrlAttempts) throw failed(failures.signedUrls);
      await this.#change({ urlFailures: urlFailures + 1 });
      // Ends the run instead of waiting, so that other recordings can be uploaded.
      throw new RunEnded({ end: 'pause', afterMs: this.#options.backoffMs(urlFailures + 1) });
    }
    const read = readSignedUrls(parse(answer), recording.files);
    if ('problem' in read) {
      logger.warn({ recordingId, problem: read.problem }, 'the signed URLs do not match the request');
      throw failed(failures.signedUrls);
    }
    const files = withIssuedUrls(recording.files, read.urls);
    this.#requireClaim(await recordings.issue(this.#claim, read.urls, files));
    this.#urls = read.urls;
    return this.#read();
  }

  async #sendFile(index: number): Promise<void> {
    const { recordings } = this.#options;
    for (;;) {
      const recording = await this.#read();
      const file = recording.files[index];
      if (!file || file.done) return;
      if (file.splitted === 0 || file.parts.length === file.splitted) {
        if (file.splitted === 0 && (await this.#send(recording, index, 0)) === undefined) continue;
        await this.#change({ [`files.${index}.done`]: true } as RecordingChange);
        return;
      }
      for (let part = file.parts.length; part < file.splitted; part += 1) {
        this.#throwIfAborted();
        const tag = await this.#send(recording, index, part);
        if (tag === undefined) break;
        this.#requireClaim(await recordings.partSent(this.#claim, index, part, tag));
      }
    }
  }

  /**
   * Sends one part, with retries, and returns its tag. Returns undefined if new URLs were requested: then the parts to
   * send must be determined again.
   */
  async #send(recording: Recording, index: number, part: number): Promise<string | undefined> {
    const { uploader, uploadAttempts, logger } = this.#options;
    const file = recording.files[index];
    const urls = this.#urls?.[file?.file ?? ''];
    const to = typeof urls === 'object' ? urls.parts[part] : urls;
    const archiveUrl = (await this.#options.endpoints.get(recording.endpointId))?.archiveUrl;
    if (!file || !to || !archiveUrl) throw failed(failures.archive);
    const { from: offset, bytes } = partRange(file, part, recording.partBytes);
    const from = { archiveUrl, file: file.file, offset, bytes, whole: file.splitted === 0 };
    for (let attempt = 1; ; attempt += 1) {
      const sent = await uploader.upload(from, to, this.#signal);
      // Checked before the signal: a sent part is stored even if the service is stopping.
      if (sent.outcome === 'stored') return sent.tag;
      this.#throwIfAborted();
      const { recordingId } = recording;
      logger.warn({ recordingId, file: file.file, part, ...sent }, 'a part is not sent');
      if (sent.outcome === 'missing') throw failed(failures.archive);
      if (sent.outcome === 'forbidden') throw failed(failures.signedUrls);
      if (sent.outcome === 'refused') {
        await this.#renew();
        return undefined;
      }
      if (attempt >= uploadAttempts) throw new RunEnded({ end: 'pause' });
      await this.#options.pause(attempt, this.#signal);
      this.#throwIfAborted();
    }
  }

  /** Requests new URLs, because the storage rejects the current URLs, which have most likely expired. */
  async #renew(): Promise<void> {
    const recording = await this.#read();
    if (recording.renewals >= this.#options.renewals) throw failed(failures.signedUrls);
    await this.#change({ renewals: recording.renewals + 1 });
    await this.#issue(recording);
  }

  async #read(): Promise<Recording> {
    const recording = await this.#options.recordings.get(this.#claim.recordingId);
    if (!recording) throw new ClaimLostError();
    return recording;
  }

  async #change(change: RecordingChange): Promise<void> {
    this.#requireClaim(await this.#options.recordings.change(this.#claim, change));
  }

  #requireClaim(held: boolean): void {
    if (!held) throw new ClaimLostError();
  }

  #throwIfAborted(): void {
    if (this.#signal.aborted) throw new ClaimLostError();
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}
