import { readFile } from 'node:fs/promises';
import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Behaviour } from './behaviour.ts';
import type { Http } from './http.ts';
import type { Journal } from './journal.ts';
import type { PendingUpload } from './kept.ts';
import type { Outbox } from './outbox.ts';
import type { UrlRequests } from './urls.ts';

/**
 * Refusals of a URL that the report repeats as they are; every other refusal is reported as a failed
 * upload.
 */
const reportedRefusals: readonly UrlRefusal[] = [
  UrlRefusal.UNSPECIFIED,
  UrlRefusal.SIZE,
  UrlRefusal.NOT_ASSOCIATED,
  UrlRefusal.NO_SIGNED_URL,
];

/** The content that is uploaded when no local file is given. */
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

/** Uploads files one after the other, and reports the end of each once. */
export class Uploads {
  readonly #parts: UploadParts;
  readonly #atUploaded: (upload: PendingUpload) => void;
  #working: Promise<void> = Promise.resolve();
  /** Ends the upload that is going on. */
  readonly #stops = new Map<number, AbortController>();

  /**
   * Continues the uploads in the journal. `atUploaded` is called when the bytes are stored and the end is
   * not reported yet.
   */
  constructor(parts: UploadParts, atUploaded: (upload: PendingUpload) => void) {
    this.#parts = parts;
    this.#atUploaded = atUploaded;
    for (const upload of parts.journal.uploads.values()) this.#queue(upload);
  }

  /** Stores an upload and does it as soon as possible. Returns its number. */
  add(upload: Omit<PendingUpload, 'id' | 'epoch'>): number {
    const { journal } = this.#parts;
    const kept = { ...upload, id: journal.lastUploadId + 1, epoch: journal.takenEpoch };
    journal.uploadAsked(kept);
    this.#queue(kept);
    return kept.id;
  }

  /** Stops uploads that have ended with their activation, and aborts a PUT that is going on. */
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
      // The headset is closed: its journal still holds the upload. Or the upload has ended with its activation.
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

  /** False when it has ended with the activation that it belongs to. */
  #isWanted({ id }: PendingUpload): boolean {
    return this.#parts.journal.uploads.has(id);
  }

  /** One try only, because a signed URL that refuses once refuses again. */
  async #put({ path, sizeBytes }: PendingUpload, url: string, signal: AbortSignal): Promise<boolean> {
    const { http, behaviour } = this.#parts;
    try {
      const bytes = path === undefined ? generatedBytes(sizeBytes) : await readFile(path);
      // The address was asked for another file.
      if (bytes.length !== sizeBytes) return false;
      const status = await http.put(url, bytes, { signal, idleMs: behaviour.putIdleMs });
      return status >= 200 && status < 300;
    } catch (error) {
      if (signal.aborted) throw error;
      return false;
    }
  }
}
