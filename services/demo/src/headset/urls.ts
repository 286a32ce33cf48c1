import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type UrlAnswer,
  UrlRefusal,
  type UrlRequestSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

type UrlRequest = MessageInitShape<typeof UrlRequestSchema>;
export type UrlAbout = NonNullable<UrlRequest['about']>;

/** Interval at which an unanswered request is repeated; milliseconds. */
const repeatAfterMs = 30_000;

/** Requests for signed URLs. The cloud does not store requests, so each session sends open requests again. */
export class UrlRequests {
  readonly #send: (request: UrlRequest) => void;
  readonly #waiting = new Map<bigint, { about: UrlAbout; answered(answer: UrlAnswer): void }>();
  #lastId = 0n;
  #open = false;

  constructor(send: (request: UrlRequest) => void) {
    this.#send = send;
  }

  /** Call it when a session has begun: sends all open requests. */
  open(): void {
    this.#open = true;
    for (const [requestId, { about }] of this.#waiting) this.#send({ requestId, about });
  }

  close(): void {
    this.#open = false;
  }

  answered(answer: UrlAnswer): void {
    this.#waiting.get(answer.requestId)?.answered(answer);
  }

  /**
   * Requests a URL, over later sessions if necessary, until the answer is not UNAVAILABLE and `isGood` accepts its
   * expiry. Throws if `signal` is aborted.
   */
  async ask(
    about: UrlAbout,
    signal: AbortSignal,
    isGood: (expiresAtMs: number) => boolean = () => true,
  ): Promise<UrlAnswer> {
    for (;;) {
      const answer = await this.#askOnce(about, signal);
      const expires = Number(answer.expiresAtMs) || Number.POSITIVE_INFINITY;
      if (answer.refusal !== UrlRefusal.UNAVAILABLE && isGood(expires)) return answer;
      await sleep(answer.retryAfterMs || 1000, undefined, { signal });
    }
  }

  #askOnce(about: UrlAbout, signal: AbortSignal): Promise<UrlAnswer> {
    this.#lastId += 1n;
    const requestId = this.#lastId;
    return new Promise((resolve, reject) => {
      const send = () => {
        if (this.#open) this.#send({ requestId, about });
      };
      const repeat = setInterval(send, repeatAfterMs);
      const done = () => {
        clearInterval(repeat);
        signal.removeEventListener('abort', stop);
        this.#waiting.delete(requestId);
      };
      const stop = () => {
        done();
        reject(signal.reason);
      };
      this.#waiting.set(requestId, {
        about,
        answered: (answer) => {
          done();
          resolve(answer);
        },
      });
      if (signal.aborted) stop();
      else {
        signal.addEventListener('abort', stop);
        send();
      }
    });
  }
}
