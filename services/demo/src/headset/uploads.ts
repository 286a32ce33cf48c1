import { readFile } from 'node:fs/promises';
import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Behaviour } from './behaviour.ts';
import type { Http } from './http.ts';
import type { Journal } from './journal.ts';
import type { Outbox } from './outbox.ts';
import type { PendingUpload } from './stored-types.ts';
import type { UrlRequests } from './urls.ts';

/**
 * Refusals that the report contains unchanged. Every other refusal is reported as UPLOAD_FAILED.
 */
const reportedRefusals: readonly UrlRefusal[] = [
  UrlRefusal.UNSPECIFIED,
  UrlRefusal.SIZE,
  UrlRefusal.NOT_ASSOCIATED,
  UrlRefusal.NO_SIGNED_URL,
];

/** The content of an upload without a local file. */
export function generatedBytes(sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, 'a simulated headset ');
}

interface UploadParts {
  readonly journal: Journal;
  readonly outbox: Outbox;
  readonly http: Http;
  readonly urls: UrlRequests;
  readonly signal: AbortSignal;
  readonly behaviour: Behaviour;
  /** The corrected clock; milliseconds since 1970. */
  nowMs(): number;
}

/** Uploads files one after the other, and reports each end once. */
export class Uploads {
  readonly #parts: UploadParts;
  readonly #atUploaded: (upload: PendingUpload) => void;
  #working: Promise<void> = Promise.resolve();
  /** Aborts running uploads, by their number. */
  readonly #stops = new Map<number, AbortController>();

  /**
   * Continues the uploads in the journal. `atUploaded` is called after a successful PUT, before the end is reported.
   */
  constructor(parts: UploadParts, atUploaded: (upload: PendingUpload) => void) {
    this.#parts = parts;
    this.#atUploaded = atUploaded;
    for (const upload of parts.journal.uploads.values()) this.#queue(upload);
  }

  /** Stores an upload and starts it as soon as possible. Returns its number. */
  add(upload: Omit<PendingUpload, 'id' | 'epoch'>): number {
    const { journal } = this.#parts;
    const kept = { ...upload, id: journal.lastUploadId + 1, epoch: journal.takenEpoch };
    journal.uploadRequested(kept);
    this.#queue(kept);
    return kept.id;
  }

  /** Aborts running uploads that are no longer in the journal, for example after an activation change. */
  stopEnded(): void {
    for (const [id, stop] of this.#stops) if (!this.#parts.journal.uploads.has(id)) stop.abort();
  }

  /** Waits until no more writes happen; call it only after the signal is aborted. */
  async close(): Promise<void> {
    await this.#working;
  }

  #queue(upload: PendingUpload): void {
    this.#working = this.#working
      .then(() => this.#run(upload))
      // Ignores the abort of a closed headset, whose journal keeps the upload, and of an upload that has ended in the
      // journal, for example by an activation change.
      .catch((error) => {
        if (!this.#parts.signal.aborted && this.#isWanted(upload)) throw error;
      });
  }

  async #run(upload: PendingUpload): Promise<void> {
    if (!this.#isWanted(upload)) return;
    const stop = new AbortController();
    this.#stops.set(upload.id, stop);
    try {
      await this.#upload(upload, AbortSignal.any([this.#parts.signal, stop.signal]));
    } finally {
      this.#stops.delete(upload.id);
    }
  }

  async #upload(upload: PendingUpload, signal: AbortSignal): Promise<void> {
    const { journal, outbox, urls, nowMs } = this.#parts;
    const { file, sizeBytes, epoch } = upload;
    const about = {
      case: 'upload' as const,
      value: { file, sizeBytes: BigInt(sizeBytes), activationEpoch: BigInt(epoch) },
    };
    const answer = await urls.ask(about, signal, (expiresAtMs) => expiresAtMs > nowMs());
    let failure = answer.refusal;
    if (!reportedRefusals.includes(failure)) failure = UrlRefusal.UPLOAD_FAILED;
    if (!this.#isWanted(upload)) return;
    if (failure === UrlRefusal.UNSPECIFIED && !(await this.#put(upload, answer.url, signal))) {
      failure = UrlRefusal.UPLOAD_FAILED;
    }
    if (failure === UrlRefusal.UNSPECIFIED) this.#atUploaded(upload);
    if (!this.#isWanted(upload)) return;
    const body = { case: 'fileUpload' as const, value: { file, sizeBytes: BigInt(sizeBytes), failure } };
    const report = outbox.draft(body, 0, { activationEpoch: epoch });
    journal.uploadEnded(upload.id, report);
    outbox.queue([report]);
  }

  /** False if an activation change or a reset has ended the upload. */
  #isWanted({ id }: PendingUpload): boolean {
    return this.#parts.journal.uploads.has(id);
  }

  /** Sends one PUT without a retry, because a signed URL that refuses once refuses again. */
  async #put({ path, sizeBytes }: PendingUpload, url: string, signal: AbortSignal): Promise<boolean> {
    const { http, behaviour } = this.#parts;
    try {
      const bytes = path === undefined ? generatedBytes(sizeBytes) : await readFile(path);
      // The file has changed since the URL was requested.
      if (bytes.length !== sizeBytes) return false;
      const status = await http.put(url, bytes, { signal, idleMs: behaviour.putIdleMs });
      return status >= 200 && status < 300;
    } catch (error) {
      if (signal.aborted) throw error;
      return false;
    }
  }
}
