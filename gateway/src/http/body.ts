import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DomainError } from '@headset-cloud/runtime/errors.ts';
import getRawBody from 'raw-body';
import { isUtf8Json } from './content-type.ts';
import { GatewayError, invalidBody } from './errors.ts';
import { type JsonText, parseBody } from './json.ts';

/**
 * Reads a request's bytes, at most `limit`. Throws body_too_large, or invalid_body if the body is incomplete. Before
 * it reads, calls `hold` with the maximum number of bytes that the body can have. An error of `hold` is passed on.
 */
export async function readBytes(
  req: IncomingMessage,
  res: ServerResponse,
  limit: number,
  hold: (bytes: number) => void,
): Promise<Uint8Array> {
  const declared = req.headers['content-length'];
  if (declared !== undefined && Number(declared) > limit) throw tooLarge(limit);
  hold(declared === undefined ? limit : Number(declared));
  // Sends 100 Continue only now: every check before the body has passed.
  if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
  try {
    return await getRawBody(req, { length: declared ?? null, limit });
  } catch (error) {
    if ((error as { type?: unknown }).type === 'entity.too.large') throw tooLarge(limit);
    throw invalidBody('', 'The body did not arrive whole.');
  }
}

function tooLarge(limit: number): DomainError {
  return new GatewayError('body_too_large', `The request body is larger than ${limit} bytes.`);
}

/** True when the headers announce that no body follows. */
export function hasNoBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined;
}

/** Throws invalid_body unless the headers announce JSON in UTF-8, not compressed. */
export function requireJson(req: IncomingMessage): void {
  const type = req.headers['content-type'];
  if (type === undefined) throw invalidBody('', 'Content-Type is missing; it must be application/json.');
  if (!isUtf8Json(type)) throw invalidBody('', 'Content-Type must be application/json in UTF-8.');
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalidBody('', 'Content-Encoding is not supported.');
  }
}

/** Parses a JSON body. Throws invalid_body. */
export function parseJson(bytes: Uint8Array): JsonText {
  if (bytes.length === 0) throw invalidBody('', 'The body is missing.');
  return parseBody(bytes);
}
