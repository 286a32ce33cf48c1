import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { networkReason } from '@headset-cloud/cli/network.ts';
import { maskedBeginning, readBytes, secretsIn } from '@headset-cloud/outbound/answer.ts';
import { authorizationOf } from '@headset-cloud/outbound/credentials.ts';
import { failureReason } from '@headset-cloud/outbound/reason.ts';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { FeedEvent } from '../feed.ts';

/** Time-out of the cloud for an answer to a callback (rule C10); milliseconds. */
export const answerTimeoutMs = 15_000;
/** Maximum characters of an answer that are kept, to show why an event was rejected. */
const keptCharacters = 200;

/** Result of one request to the target. */
export interface Attempt {
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** Reason for a failure: the beginning of the answer, or the network error; undefined for a success. */
  readonly reason: string | undefined;
  /** Wait that the target asks for (429 and 503 only); milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** The headers that the cloud sends with a callback. Only `user-agent` differs. */
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
 * Posts a body once. Redirects are not followed, like in the cloud. Once the status has arrived, errors of the answer's
 * body do not matter. `key` and the signatures are masked in the reported answer. Never rejects.
 */
export async function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  options: { readonly signal: AbortSignal; readonly key: string; readonly time?: Time },
): Promise<Attempt> {
  const { time = systemTime } = options;
  const began = time.monotonicNow();
  const content = Buffer.from(body);
  const limit = new AbortController();
  const timer = time.setTimeout(() => limit.abort(), answerTimeoutMs);
  const signal = AbortSignal.any([options.signal, limit.signal]);
  const durationMs = () => Math.round(time.monotonicNow() - began);
  const result = new Promise<Attempt>((resolve) => {
    let hasStatus = false;
    const failed = (error: Error) => {
      if (hasStatus) return;
      const reason = options.signal.aborted
        ? 'the request was aborted'
        : signal.aborted
          ? `no answer within ${answerTimeoutMs / 1000} s`
          : (networkReason(error) ?? failureReason(error));
      resolve({ status: undefined, durationMs: durationMs(), reason, retryAfterMs: undefined });
    };
    const settings: RequestOptions = {
      method: 'POST',
      // A new connection for each request: a server may close a keep-alive connection when the next request is sent.
      agent: false,
      headers: { ...headers, ...authorizationOf(url), 'content-length': content.length },
      signal,
    };
    const withoutPassword = new URL(url);
    withoutPassword.username = '';
    withoutPassword.password = '';
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(withoutPassword, settings, (answer) => {
      hasStatus = true;
      const status = answer.statusCode ?? 0;
      const isAccepted = status >= 200 && status < 300;
      const tookMs = durationMs();
      void beginningOf(answer, [options.key, ...secretsIn(headers)]).then((text) => {
        answer.destroy();
        resolve({
          status,
          durationMs: tookMs,
          reason: isAccepted ? undefined : text,
          retryAfterMs: status === 429 || status === 503 ? waitOf(answer) : undefined,
        });
      });
    });
    request.on('error', failed);
    request.end(content);
  });
  try {
    return await result;
  } finally {
    time.clearTimer(timer);
  }
}

/** The beginning of an answer's text. A failed read only shortens the text, because the status is known already. */
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
    // The answer was interrupted.
  }
  const { answer: text } = maskedBeginning(Buffer.concat(parts).subarray(0, readBytes), secrets);
  return cut(text.trim(), keptCharacters);
}

function waitOf({ headers }: IncomingMessage): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
