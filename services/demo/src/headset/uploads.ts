import { readFile } from 'node:fs/promises';
import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Behaviour, breaks } from './behaviour.ts';
import type { Journal } from './journal.ts';
import type { PendingUpload } from './kept.ts';
import { type Outbox, reportingEpoch } from './outbox.ts';
import { put } from './put.ts';
import type { UrlRequests } from './urls.ts';

/**
 * Refusals of a URL that the report repeats as they are; every other refusal is reported as a failed
 * upload.
 */
const toldRefusals: readonly UrlRefusal[] = [
  UrlRefusal.UNSPECIFIED,
  UrlRefusal.SIZE,
  UrlRefusal.NOT_ASSOCIATED,
  UrlRefusal.NO_SIGNED_URL,
];

/** The content that is uploaded when no local file is given. */
export function generatedBytes(sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, 'a simulated headset ');
}

/** Uploads files one after the other, and reports the end of each once. */
export class Uploads {
  readonly #journal: Journal;
  readonly #outbox: Outbox;
  readonly #urls: UrlRequests;
  readonly #signal: AbortSignal;
  readonly #behaviour: Behaviour;
  readonly #nowMs: () => number;
  readonly #atUploaded: (upload: PendingUpload) => void;
  #working: Promise<void> = Promise.resolve();
  /** Ends the upload that is going on. */
  readonly #stops = new Map<number, AbortController>();

  /**
   * Continues the uploads in the journal. `atUploaded` is called when the bytes are stored and the end is
   * not reported yet.
   */
  constructor(
    parts: {
      journal: Journal;
      outbox: Outbox;
      urls: UrlRequests;
      signal: AbortSignal;
      behaviour: Behaviour;
      /** Milliseconds since 1970, by the cloud's clock. */
      nowMs(): number;
    },
    atUploaded: (upload: PendingUpload) => void,
  ) {
    this.#journal = parts.journal;
    this.#outbox = parts.outbox;
    this.#urls = parts.urls;
    this.#signal = parts.signal;
    this.#behaviour = parts.behaviour;
    this.#nowMs = parts.nowMs;
    this.#atUploaded = atUploaded;
    for (const upload of this.#journal.uploads.values()) this.#queue(upload);
  }

  /** Stores an upload and does it as soon as possible. Returns its number. */
  add(upload: Omit<PendingUpload, 'id' | 'epoch'>): number {
    const kept = {
      ...upload,
      id: this.#journal.lastUploadId + 1,
      epoch: reportingEpoch(this.#journal, this.#behaviour),
    };
    this.#journal.uploadAsked(kept);
    this.#queue(kept);
    return kept.id;
  }

  /** Stops uploads that have ended with their activation, and aborts a PUT that is going on. */
  stopEnded(): void {
    if (breaks(this.#behaviour, 'finishes-put')) return;
    for (const [id, stop] of this.#stops) if (!this.#journal.uploads.has(id)) stop.abort();
  }

  /** Waits until no more writes happen; call it only after the signal is aborted. */
  async close(): Promise<void> {
    await this.#working;
  }

  #queue(upload: PendingUpload): void {
    const before = breaks(this.#behaviour, 'asks-all-at-once') ? Promise.resolve() : this.#working;
    this.#working = before
      .then(() => this.#run(upload))
      // The headset is closed: its journal still holds the upload. Or the upload has ended with its activation.
      .catch((error) => {
        if (!this.#signal.aborted && this.#isWanted(upload)) throw error;
      });
  }

  async #run(upload: PendingUpload): Promise<void> {
    if (!this.#isWanted(upload)) return;
    const stop = new AbortController();
    this.#stops.set(upload.id, stop);
    try {
      await this.#upload(upload, AbortSignal.any([this.#signal, stop.signal]));
    } finally {
      this.#stops.delete(upload.id);
    }
  }

  async #upload(upload: PendingUpload, signal: AbortSignal): Promise<void> {
    const { file, sizeBytes, epoch } = upload;
    const about = {
      case: 'upload' as const,
      value: { file, sizeBytes: BigInt(sizeBytes), activationEpoch: BigInt(epoch) },
    };
    const answer = await this.#urls.ask(about, signal, (expiresAtMs) => expiresAtMs > this.#nowMs());
    let failure = answer.refusal;
    const isTold = toldRefusals.includes(failure) || breaks(this.#behaviour, 'repeats-unknown-refusal');
    if (!isTold) failure = UrlRefusal.UPLOAD_FAILED;
    if (!this.#isWanted(upload)) return;
    if (failure === UrlRefusal.UNSPECIFIED) {
      const again = breaks(this.#behaviour, 'puts-again');
      const isThere =
        (await this.#put(upload, answer.url, signal)) ||
        (again && (await this.#put(upload, answer.url, signal)));
      if (!isThere) failure = UrlRefusal.UPLOAD_FAILED;
    }
    if (failure === UrlRefusal.UNSPECIFIED) this.#atUploaded(upload);
    if (!this.#isWanted(upload) || breaks(this.#behaviour, 'no-upload-report')) return;
    const report = this.#outbox.draft(
      { case: 'fileUpload', value: { file, sizeBytes: BigInt(sizeBytes), failure } },
      0,
      { activationEpoch: epoch },
    );
    this.#journal.uploadEnded(upload.id, report);
    this.#outbox.queue([report]);
  }

  /** False when it has ended with the activation that it belongs to. */
  #isWanted({ id }: PendingUpload): boolean {
    return this.#journal.uploads.has(id);
  }

  /** One try only, because a signed URL that refuses once refuses again. */
  async #put({ path, sizeBytes }: PendingUpload, url: string, signal: AbortSignal): Promise<boolean> {
    const behaviour = this.#behaviour;
    try {
      const bytes = path === undefined ? generatedBytes(sizeBytes) : await readFile(path);
      // The address was asked for another file.
      if (bytes.length !== sizeBytes) return false;
      const contentType = breaks(behaviour, 'puts-content-type') ? 'text/plain' : undefined;
      const options = { signal, idleMs: behaviour.putIdleMs, contentType };
      let { status, location } = await put(url, bytes, options);
      if (location !== undefined && breaks(behaviour, 'follows-put-redirect')) {
        ({ status, location } = await put(location, bytes, options));
      }
      return status >= 200 && status < 300;
    } catch (error) {
      if (signal.aborted) throw error;
      return false;
    }
  }
}
