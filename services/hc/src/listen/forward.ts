import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { cut } from '@headset-cloud/kit/characters.ts';
import { networkReason } from '@headset-cloud/kit/cli/network.ts';
import { readBytes, secretsIn, toldOf } from '@headset-cloud/kit/outbound/answer.ts';
import { authorizationOf } from '@headset-cloud/kit/outbound/credentials.ts';
import { failureReason } from '@headset-cloud/kit/outbound/reason.ts';
import { signatureHeaders } from '@headset-cloud/kit/outbound/signing.ts';
import type { FeedEvent } from '../feed.ts';

/** How long the cloud waits for an answer to a callback (rule C10); milliseconds. */
export const answerTimeoutMs = 15_000;
/** Most of an answer that is kept, to show why an event was refused. */
const keptCharacters = 200;

/** What came of one request to the target. */
export interface Attempt {
  /** Undefined: there was no answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** Why it failed: the beginning of the answer, or the network's reason; undefined for a success. */
  readonly reason: string | undefined;
  /** When the target wants it again (429 and 503 only); milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** The headers of a callback as the cloud sends it, but for the name of the sender. */
export function callbackHeaders(
  { webhookId, body }: FeedEvent,
  applicationId: string,
  key: string,
  nowMs: number,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'headset-cloud-hc',
    applicationId,
    ...signatureHeaders({
      notificationId: webhookId,
      authenticationKey: key,
      body: Buffer.from(body),
      timestampSeconds: Math.floor(nowMs / 1000),
    }),
  };
}

/**
 * Posts a body once. Redirects are not followed, as the cloud does not. What is told of the answer has `key` and the
 * signatures masked. Never rejects.
 */
export function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  options: { readonly signal: AbortSignal; readonly key: string; readonly timeoutMs?: number },
): Promise<Attempt> {
  const { timeoutMs = answerTimeoutMs } = options;
  const began = performance.now();
  const content = Buffer.from(body);
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const durationMs = () => Math.round(performance.now() - began);
  return new Promise((resolve) => {
    const failed = (error: Error) => {
      const reason = options.signal.aborted
        ? 'it was ended'
        : signal.aborted
          ? `no answer within ${timeoutMs / 1000} s`
          : (networkReason(error) ?? failureReason(error));
      resolve({ status: undefined, durationMs: durationMs(), reason, retryAfterMs: undefined });
    };
    const settings: RequestOptions = {
      method: 'POST',
      // A kept connection may be closed by the other side just as the request goes out.
      agent: false,
      headers: { ...headers, ...authorizationOf(url), 'content-length': content.length },
      signal,
    };
    const bare = new URL(url);
    bare.username = '';
    bare.password = '';
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(bare, settings, (answer) => {
      const status = answer.statusCode ?? 0;
      const isTaken = status >= 200 && status < 300;
      const tookMs = durationMs();
      void beginningOf(answer, [options.key, ...secretsIn(headers)]).then((told) => {
        answer.destroy();
        resolve({
          status,
          durationMs: tookMs,
          reason: isTaken ? undefined : told,
          retryAfterMs: status === 429 || status === 503 ? waitOf(answer) : undefined,
        });
      });
    });
    request.on('error', failed);
    request.end(content);
  });
}

/** The beginning of an answer's text; what fails on the way does not matter once the status is there. */
async function beginningOf(answer: IncomingMessage, secrets: readonly string[]): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      parts.push(part);
      bytes += part.length;
      if (bytes >= readBytes) break;
    }
  } catch {
    // Cut off.
  }
  const { answer: told } = toldOf(Buffer.concat(parts).subarray(0, readBytes), secrets);
  return cut(told.trim(), keptCharacters);
}

function waitOf({ headers }: IncomingMessage): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
