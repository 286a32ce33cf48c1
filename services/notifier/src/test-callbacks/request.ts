import type { TLSSocket } from 'node:tls';
import { beginning, secretsIn } from '@headset-cloud/outbound/answer.ts';
import { authorizationOf } from '@headset-cloud/outbound/credentials.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import { type buildConnector, Client } from 'undici';
import { attemptReasons, reasonOf } from '../domain/attempt-reason.ts';
import type { Deadline } from '../http/deadline.ts';
import { describeFailure } from '../http/sender.ts';

/** Details of the TLS connection. */
export interface TlsFacts {
  readonly protocol: string;
  readonly cipher: string;
  /** Common names of the certificate; empty if there are none. */
  readonly subject: string;
  readonly issuer: string;
  /** End of the certificate's validity; milliseconds since 1970. */
  readonly validToMs: number;
}

/** Result of one request. */
export interface TestResult {
  readonly atMs: number;
  readonly durationMs: number;
  /** 0 if there was no answer. */
  readonly statusCode: number;
  /** A reason of the fixed list; empty if the receiver accepted it. */
  readonly reason: string;
  readonly tls?: TlsFacts;
  /** Beginning of the answer, without secrets of the request. */
  readonly answer: string;
  readonly answerCut: boolean;
}

/**
 * Posts once on a separate connection, and returns the result. Redirects are not followed. Only the beginning of the
 * answer is read, so its size does not matter. Never throws: a failure is a result.
 */
export async function postTest(
  connect: buildConnector.connector,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  {
    deadline,
    time,
    secrets,
  }: {
    readonly deadline: Deadline;
    readonly time: Time;
    /** Secrets that must not be reported, in addition to signatures and credentials. */
    readonly secrets: readonly string[];
  },
): Promise<TestResult> {
  const atMs = time.now();
  const started = time.monotonicNow();
  const sent = { ...headers, ...authorizationOf(url) };
  let tls: TlsFacts | undefined;
  const client = new Client(url.origin, {
    connect: (options, callback) =>
      connect(options, (...answer) => {
        const [error, socket] = answer;
        if (!error && 'getPeerCertificate' in socket) tls = factsOf(socket as TLSSocket);
        callback(...answer);
      }),
  });
  const result = (rest: Pick<TestResult, 'statusCode' | 'reason' | 'answer' | 'answerCut'>): TestResult => ({
    ...{ atMs, durationMs: Math.round(time.monotonicNow() - started) },
    ...rest,
    ...(tls && { tls }),
  });
  const reason = (statusCode: number, error: string) => {
    const why = reasonOf({ statusCode, error });
    return why === undefined ? '' : attemptReasons[why];
  };
  try {
    const request = client.request({
      ...{ method: 'POST', path: url.pathname + url.search },
      ...{ headers: sent, body, signal: deadline.signal },
    });
    // The request may continue after the deadline.
    request.catch(() => {});
    const { statusCode, body: stream } = await Promise.race([request, deadline.passed]);
    // An interrupted body emits an error even if nobody reads it; without a listener that would end the process.
    stream.on('error', () => {});
    const read = await beginning(stream, [...secrets, ...secretsIn(sent)], deadline.passed);
    return result({ statusCode, reason: reason(statusCode, ''), ...read });
  } catch (error) {
    return result({ statusCode: 0, reason: reason(0, describeFailure(error)), answer: '', answerCut: false });
  } finally {
    client.destroy().catch(() => {});
  }
}

function factsOf(socket: TLSSocket): TlsFacts {
  const { subject, issuer, valid_to: validTo } = socket.getPeerCertificate();
  const name = (of: { CN?: string | string[] } | undefined) => [of?.CN ?? ''].flat()[0] ?? '';
  return {
    protocol: socket.getProtocol() ?? '',
    cipher: socket.getCipher().standardName ?? socket.getCipher().name,
    subject: name(subject),
    issuer: name(issuer),
    validToMs: Date.parse(validTo) || 0,
  };
}
