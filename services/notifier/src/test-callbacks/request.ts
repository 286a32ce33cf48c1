import type { TLSSocket } from 'node:tls';
import type { Time } from '@headset-cloud/kit/clock.ts';
import { beginning, secretsIn } from '@headset-cloud/kit/outbound/answer.ts';
import { authorizationOf } from '@headset-cloud/kit/outbound/credentials.ts';
import { type buildConnector, Client } from 'undici';
import { attemptReasons, reasonOf } from '../domain/attempt-reason.ts';
import type { Deadline } from '../http/deadline.ts';
import { describeFailure } from '../http/sender.ts';

/** How TLS made a connection, as the other side sees it, too. */
export interface TlsFacts {
  readonly protocol: string;
  readonly cipher: string;
  /** Common names of the certificate; empty where it has none. */
  readonly subject: string;
  readonly issuer: string;
  /** When the certificate ends; milliseconds since 1970. */
  readonly validToMs: number;
}

/** What came of one request. */
export interface TestResult {
  readonly atMs: number;
  readonly durationMs: number;
  /** 0: there was no answer. */
  readonly statusCode: number;
  /** In words of a fixed list; empty: the receiver took it. */
  readonly reason: string;
  readonly tls?: TlsFacts;
  /** Beginning of the answer, without what was sent in secret. */
  readonly answer: string;
  readonly answerCut: boolean;
}

/**
 * Posts once on a connection of its own, and tells what came back. Redirects are not followed, and of the answer only
 * the beginning is read, so that its size does not matter. Never throws: a failure is a result.
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
    /** What must not be told beside signatures and credentials. */
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
    // The race may be lost while it goes on.
    request.catch(() => {});
    const { statusCode, body: stream } = await Promise.race([request, deadline.passed]);
    // A body that is cut off reports that as an error, also when nobody reads it any more.
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
