import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type UrlAnswerSchema,
  UrlRefusal,
  type UrlRequest,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetFilesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { DownloadsService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Limiter } from '../calls/limiter.ts';
import { limits } from '../domain/limits.ts';
import type { SessionContext } from './session-context.ts';

type Answer = Omit<MessageInitShape<typeof UrlAnswerSchema>, '$typeName' | 'requestId'>;

/** The services that issue URLs, shared by all sessions. */
export interface UrlServices {
  readonly downloads: Client<typeof DownloadsService>;
  readonly files: Client<typeof HeadsetFilesService>;
  /** Limits the instance's concurrent requests for download URLs: after an outage every headset sends one. */
  readonly downloadLimiter: Limiter;
}

/** Deadline of a request for an upload URL, which the integrator answers; milliseconds. */
const uploadDeadlineMs = 20_000;
/** Retry delay of a headset with too many open requests; milliseconds. */
const busyRetryMs = 1000;
/** Retry delay if a service is unavailable and its error contains no delay; milliseconds. */
const unavailableRetryMs = 3000;

/**
 * Answers one session's requests for URLs. Nothing is stored: the headset repeats open requests in its next session.
 * Each request is answered within its deadline. If too many requests are open, a new request is answered at once, with
 * a retry delay.
 */
export class UrlRequests {
  readonly #session: Pick<SessionContext, 'deviceId' | 'send' | 'logFailure'>;
  readonly #services: UrlServices;
  readonly #open = new Map<bigint, AbortController>();
  /** Ids of the last answered requests: the headset may have repeated a request before it got the answer. */
  readonly #answered = new Set<bigint>();
  #failures = 0;

  constructor(session: Pick<SessionContext, 'deviceId' | 'send' | 'logFailure'>, services: UrlServices) {
    this.#session = session;
    this.#services = services;
  }

  /**
   * Answers a request once, unless the session ends first. A request with the id of an earlier request is a repetition
   * (protocol page, "Addresses") and is ignored.
   */
  take(request: UrlRequest): void {
    const { requestId } = request;
    if (this.#open.has(requestId) || this.#answered.has(requestId)) return;
    if (this.#open.size >= limits.maxUrlsInFlight) {
      this.#send(requestId, unavailable(busyRetryMs));
      return;
    }
    const ended = new AbortController();
    this.#open.set(requestId, ended);
    void this.#find(request, ended.signal).then((found) => {
      this.#open.delete(requestId);
      this.#send(requestId, found);
    });
  }

  /** Aborts the open requests at the end of the session. */
  close(): void {
    for (const ended of this.#open.values()) ended.abort();
  }

  /**
   * Sends an answer and stores the id of the request. Stores as many ids as a headset may have open requests, because
   * only these requests can be repeated.
   */
  #send(requestId: bigint, answer: Answer): void {
    this.#session.send({ case: 'urlAnswer', value: { requestId, ...answer } });
    this.#answered.add(requestId);
    for (const oldest of this.#answered) {
      if (this.#answered.size <= limits.maxUrlsInFlight) break;
      this.#answered.delete(oldest);
    }
  }

  async #find(request: UrlRequest, signal: AbortSignal): Promise<Answer> {
    try {
      const found = await this.#request(request, signal);
      this.#failures = 0;
      return found;
    } catch (error) {
      if (!signal.aborted) {
        this.#failures += 1;
        this.#session.logFailure('a URL could not be requested', error, this.#failures);
      }
      return unavailable((error as { retryAfterMs?: number }).retryAfterMs ?? unavailableRetryMs);
    }
  }

  async #request({ about }: UrlRequest, signal: AbortSignal): Promise<Answer> {
    const { downloads, files, downloadLimiter } = this.#services;
    const { deviceId } = this.#session;
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

/** Converts a service's response to an answer with either a URL or a refusal. */
function answered(found: { url: string; expiresAtMs: bigint; refusal: UrlRefusal }): Answer {
  const { url, expiresAtMs, refusal } = found;
  if (refusal === UrlRefusal.UNAVAILABLE) return unavailable(unavailableRetryMs);
  if (refusal !== UrlRefusal.UNSPECIFIED) return { refusal };
  return url ? { url, expiresAtMs } : { refusal: UrlRefusal.NOT_FOUND };
}

function unavailable(retryAfterMs: number): Answer {
  return { refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: Math.round(retryAfterMs) };
}
