import { timingSafeEqual } from 'node:crypto';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import type { SigningKey } from '../signing-keys.ts';
import type { StoredCallback } from './stored-callback.ts';

/** Maximum seconds between `webhook-timestamp` and the receiver's clock. An older callback may be a replay. */
export const toleranceSeconds = 300;

/** Result for one header's signature. */
export interface SignatureFinding {
  readonly header: 'X-TLPF-NOTIFICATION-KEY' | 'webhook-signature';
  readonly isRight: boolean;
  /** The result in words. */
  readonly finding: string;
}

/** Result for a stored callback. */
export interface SignatureReport {
  readonly webhookId: string | undefined;
  /** Milliseconds since 1970. */
  readonly signedAtMs: number | undefined;
  readonly signatures: readonly SignatureFinding[];
  /** Owner of the key that signed the callback; undefined if no known key did. */
  readonly signedWith: string | undefined;
  readonly isInTime: boolean;
  /** Problems with their next steps; empty if all is correct. */
  readonly problems: readonly string[];
}

/** Checks a stored callback with the known keys. `sentBody`: the body that the cloud sent, if known. */
export function checkSignatures(
  { headers, body }: Pick<StoredCallback, 'headers' | 'body'>,
  keys: readonly SigningKey[],
  receivedAtMs: number,
  sentBody?: string,
): SignatureReport {
  const webhookId = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  // X-TLPF-NOTIFICATION-KEY signs only the body; webhook-signature follows Standard Webhooks.
  const given = {
    simple: headers['x-tlpf-notification-key'],
    standard: headers['webhook-signature'],
  };
  const seconds = timestamp !== undefined && /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : undefined;
  const problems: string[] = [];

  const matchesOf = (key: string, bytes: Buffer) => {
    const expected = signatureHeaders({
      notificationId: webhookId ?? '',
      authenticationKey: key,
      body: bytes,
      timestampSeconds: seconds ?? 0,
    });
    const offered = (given.standard ?? '').split(' ');
    return {
      simple: same(given.simple ?? '', expected['X-TLPF-NOTIFICATION-KEY'] as string),
      standard:
        webhookId !== undefined &&
        seconds !== undefined &&
        offered.some((one) => same(one, expected['webhook-signature'] as string)),
    };
  };
  const tried = keys.map(({ key, whose }) => ({ whose, ...matchesOf(key, body) }));
  const best =
    tried.find((one) => one.simple && one.standard) ?? tried.find((one) => one.simple || one.standard);

  const isMissing = (value: string | undefined) => value === undefined || value === '';
  for (const [name, value] of [
    ['webhook-id', webhookId],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', given.standard],
    ['X-TLPF-NOTIFICATION-KEY', given.simple],
  ] as const) {
    if (isMissing(value)) {
      problems.push(`The header ${name} is missing: store and forward all headers of the request.`);
    }
  }
  if (!isMissing(timestamp) && seconds === undefined) {
    problems.push('webhook-timestamp is not a number of seconds since 1970: it was changed.');
  }
  if (!best) problems.push(...explainNoMatch(keys, body, matchesOf, sentBody));
  else if (!best.standard && !isMissing(given.standard) && !isMissing(webhookId) && seconds !== undefined) {
    problems.push(
      given.standard?.split(' ').some((one) => one.startsWith('v1,'))
        ? 'Body and key are right, so webhook-id, webhook-timestamp or webhook-signature was changed or belongs to another callback: a replay, or mixed-up headers.'
        : 'webhook-signature has no signature that begins with "v1,".',
    );
  } else if (!best.simple && !isMissing(given.simple)) {
    problems.push('Body and key are right, so X-TLPF-NOTIFICATION-KEY was changed: it is hex in lower case.');
  }

  const signedAtMs = seconds === undefined ? undefined : seconds * 1000;
  const ageSeconds = signedAtMs === undefined ? 0 : (receivedAtMs - signedAtMs) / 1000;
  const isInTime = signedAtMs !== undefined && Math.abs(ageSeconds) <= toleranceSeconds;
  if (signedAtMs !== undefined && !isInTime) {
    const distance = durationText(Math.abs(ageSeconds));
    problems.push(
      ageSeconds > 0
        ? `It was signed ${distance} before it was received: a receiver rejects more than ${toleranceSeconds / 60} min as a replay. Set the receiver's clock, or give the time of receipt (--received).`
        : `It was signed ${distance} after it was received: the receiver's clock is slow, or --received is wrong.`,
    );
  }

  const finding = (
    header: SignatureFinding['header'],
    value: string | undefined,
    isRight: boolean | undefined,
  ): SignatureFinding => ({
    header,
    isRight: isRight === true,
    finding: isMissing(value) ? 'missing' : isRight ? `correct, with ${best?.whose}` : 'wrong',
  });
  return {
    webhookId,
    signedAtMs,
    signatures: [
      finding('X-TLPF-NOTIFICATION-KEY', given.simple, best?.simple),
      finding('webhook-signature', given.standard, best?.standard),
    ],
    signedWith: best?.whose,
    isInTime,
    problems,
  };
}

/** Returns which of the two given signatures are correct for a key and a body. */
type MatchesOf = (key: string, bytes: Buffer) => { readonly simple: boolean; readonly standard: boolean };

/** Explains why no signature is correct: a changed body, or another key. */
function explainNoMatch(
  keys: readonly SigningKey[],
  body: Buffer,
  matchesOf: MatchesOf,
  sentBody: string | undefined,
): string[] {
  for (const [change, bytes] of likelyOriginals(body)) {
    for (const { key, whose } of keys) {
      const matches = matchesOf(key, bytes);
      if (matches.simple || matches.standard) {
        return [
          `The body was changed: ${change}. The signatures are right for the bytes before, with ${whose}. Verify the bytes as they arrive, before anything parses or rewrites them.`,
        ];
      }
    }
  }
  if (sentBody !== undefined) {
    const sent = Buffer.from(sentBody);
    return sent.equals(body)
      ? [
          'The body is unchanged, so the key differs: it was renewed since, or your server has the key of another application.',
        ]
      : [`The body was changed: it differs from the sent body from byte ${firstDifference(sent, body)} on.`];
  }
  return [
    `No signature is made with ${keys.map(({ whose }) => whose).join(' or ')}: the key differs (renewed since, or of another application), or the body was changed.`,
  ];
}

/** Typical changes that servers make to bodies, each with the possible original body. */
function likelyOriginals(body: Buffer): (readonly [string, Buffer])[] {
  const text = body.toString('utf8');
  const candidates: (readonly [string, Buffer | undefined])[] = [
    ['a line break was added at its end', /\s$/.test(text) ? Buffer.from(text.trimEnd()) : undefined],
    [
      'a byte order mark was added before it',
      text.startsWith('\ufeff') ? Buffer.from(text.slice(1)) : undefined,
    ],
    ['its characters were escaped', unescaped(text)],
    ['it was parsed and written again', compact(text)],
    ['its line breaks were changed', Buffer.from(text.replaceAll('\r\n', '\n'))],
    ['its characters were read as Latin-1, not as UTF-8', Buffer.from(text, 'latin1')],
  ];
  return candidates.flatMap(([change, bytes]) =>
    bytes === undefined || bytes.equals(body) ? [] : [[change, bytes] as const],
  );
}

function compact(text: string): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

/** Replaces `\uXXXX` of characters beyond ASCII by the characters. */
function unescaped(text: string): Buffer {
  return Buffer.from(
    text.replace(/\\u([0-9a-f]{4})/gi, (whole, code: string) => {
      const unit = Number.parseInt(code, 16);
      return unit >= 0x80 ? String.fromCharCode(unit) : whole;
    }),
  );
}

function firstDifference(a: Buffer, b: Buffer): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i + 1;
}

function durationText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** Compares in constant time. */
function same(given: string, right: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}
