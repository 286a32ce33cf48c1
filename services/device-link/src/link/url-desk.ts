import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type UrlAnswerSchema,
  UrlRefusal,
  type UrlRequest,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetFilesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { DownloadsService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { limits } from '../domain/limits.ts';
import type { Limiter } from './limiter.ts';

type Answer = Omit<MessageInitShape<typeof UrlAnswerSchema>, '$typeName' | 'requestId'>;

/** Who knows addresses, shared by all sessions. */
export interface UrlServices {
  readonly downloads: Client<typeof DownloadsService>;
  readonly files: Client<typeof HeadsetFilesService>;
  /** Bounds the questions for loads that an instance has open: after an outage every headset asks. */
  readonly downloadLimiter: Limiter;
}

/** An upload's address is asked of the integrator, who may be slow; milliseconds. */
const uploadDeadlineMs = 20_000;
/** When to ask again, where the answer names no time; milliseconds. */
const busyRetryMs = 1000;
const awayRetryMs = 3000;

/**
 * Answers one session's requests for addresses. Nothing is kept: a headset whose session ends asks
 * again in the next. Each request has its answer within its deadline, and no more than a few are open
 * at a time, so a headset that asks too much is told so at once.
 */
export class UrlDesk {
  readonly #deviceId: string;
  readonly #services: UrlServices;
  readonly #failed: (error: unknown, inARow: number) => void;
  readonly #open = new Map<bigint, AbortController>();
  /** The ids that were answered last: a repeated request may have crossed its answer. */
  readonly #answered = new Set<bigint>();
  #failures = 0;

  constructor(deviceId: string, services: UrlServices, failed: (error: unknown, inARow: number) => void) {
    this.#deviceId = deviceId;
    this.#services = services;
    this.#failed = failed;
  }

  /**
   * Calls `answer` once, unless the session ends before. A request that comes again with its id is the same
   * request (protocol page, "Addresses"): it is not counted, asked or answered a second time.
   */
  ask(request: UrlRequest, answer: (answer: MessageInitShape<typeof UrlAnswerSchema>) => void): void {
    const { requestId } = request;
    if (this.#open.has(requestId) || this.#answered.has(requestId)) return;
    if (this.#open.size >= limits.maxUrlsInFlight) {
      this.#noteAnswered(requestId);
      answer({ requestId, ...unavailable(busyRetryMs) });
      return;
    }
    const asking = new AbortController();
    this.#open.set(requestId, asking);
    void this.#find(request, asking.signal).then((found) => {
      this.#open.delete(requestId);
      this.#noteAnswered(requestId);
      if (!asking.signal.aborted) answer({ requestId, ...found });
    });
  }

  /** The session is over: nobody waits for the answers. */
  close(): void {
    for (const asking of this.#open.values()) asking.abort();
  }

  /** No more requests are open at a headset than here, so no more repeats can be on their way. */
  #noteAnswered(requestId: bigint): void {
    this.#answered.add(requestId);
    for (const oldest of this.#answered) {
      if (this.#answered.size <= limits.maxUrlsInFlight) break;
      this.#answered.delete(oldest);
    }
  }

  async #find(request: UrlRequest, signal: AbortSignal): Promise<Answer> {
    try {
      const found = await this.#askFor(request, signal);
      this.#failures = 0;
      return found;
    } catch (error) {
      if (!signal.aborted) {
        this.#failures += 1;
        this.#failed(error, this.#failures);
      }
      return unavailable((error as { retryAfterMs?: number }).retryAfterMs ?? awayRetryMs);
    }
  }

  async #askFor({ about }: UrlRequest, signal: AbortSignal): Promise<Answer> {
    const { downloads, files, downloadLimiter } = this.#services;
    const deviceId = this.#deviceId;
    if (about.case === 'upload') {
      const { url, refusal } = await files.getUploadUrl(
        { deviceId, upload: about.value },
        { deadlineMs: uploadDeadlineMs, signal },
      );
      return answered({ url, expiresAtMs: 0n, refusal });
    }
    const ticket = about.case === 'downloadTicket' ? about.value : new Uint8Array();
    return answered(
      await downloadLimiter(async () => {
        signal.throwIfAborted();
        return await downloads.getDownloadUrl({ deviceId, ticket }, { signal });
      }),
    );
  }
}

/** An answer has an address or a refusal, whatever a service says. */
function answered(found: { url: string; expiresAtMs: bigint; refusal: UrlRefusal }): Answer {
  const { url, expiresAtMs, refusal } = found;
  if (refusal === UrlRefusal.UNAVAILABLE) return unavailable(awayRetryMs);
  if (refusal !== UrlRefusal.UNSPECIFIED) return { refusal };
  return url ? { url, expiresAtMs } : { refusal: UrlRefusal.NOT_FOUND };
}

function unavailable(retryAfterMs: number): Answer {
  return { refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: Math.round(retryAfterMs) };
}
