import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Readable, Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { CliError, exitCodes, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import { visible } from '@headset-cloud/cli/output.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';

/** Declared size and hash of the content. */
export interface Expected {
  readonly sizeBytes: number;
  /** In lower case. */
  readonly sha256: string | undefined;
}

export interface UploadOptions {
  readonly contentType: string;
  /** Name of the content in messages. */
  readonly what: string;
  readonly expected: Expected;
  /** Longest time without progress; milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Streams the content to a signed URL in one PUT. If the content does not match the declaration, the PUT is not
 * completed, so that the storage does not store it. Throws CliError with the storage's answer.
 */
export async function upload(url: string, content: Readable, options: UploadOptions): Promise<void> {
  const { what, expected } = options;
  const { hostname, port, protocol } = new URL(url);
  const where = `${protocol}//${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
  const send = protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send(url, {
    method: 'PUT',
    headers: { 'content-type': options.contentType, 'content-length': expected.sizeBytes },
  });
  request.setTimeout(options.timeoutMs, () =>
    request.destroy(new Error(`no progress within ${options.timeoutMs} ms`)),
  );
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  // Error of the content: the request only reports that its stream ended. After a failure of the request, an error of
  // the content is ignored, because the pipeline ends the content with that failure.
  let contentError: Error | undefined;
  content.once('error', (cause) => {
    if (request.destroyed) return;
    const reason = `${what} cannot be read: ${cause.message}. Nothing was stored.`;
    contentError = refusedError(reason, { cause });
  });
  const checked = checkedContent(what, expected).once('error', (error) => {
    if (!request.destroyed) contentError ??= error;
  });
  try {
    // Only the response counts, not how sending ended. An error response may arrive before all was sent, and a server
    // may close the connection after its response. A content that does not match the declaration ends the request.
    pipeline(content, checked, request).catch(() => {});
    const answer = await answered;
    const answerText = (await text(answer)).trim();
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299) {
      throw refusedError(`The upload was rejected (${status}): ${visible(cut(answerText, 500))}`);
    }
  } catch (error) {
    if (error instanceof CliError || contentError) throw contentError ?? error;
    throw new CliError(
      exitCodes.unreachable,
      `The upload to ${where} failed: ${(error as Error).message}. It is safe to repeat.`,
      { cause: error },
    );
  } finally {
    request.destroy();
  }
}

/**
 * Passes the content through. The last piece is passed only if size and hash match the declaration; otherwise the
 * stream ends with a CliError.
 */
function checkedContent(what: string, { sizeBytes, sha256 }: Expected): Transform {
  const hash = createHash('sha256');
  const wrong = (how: string) => refusedError(`${what} ${how}. Nothing was stored.`);
  let seenBytes = 0;
  let last: Buffer | undefined;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      seenBytes += piece.length;
      if (seenBytes > sizeBytes) return done(wrong(`has more than ${sizeBytes} bytes`));
      hash.update(piece);
      const before = last;
      last = piece;
      done(null, before);
    },
    flush(done) {
      if (seenBytes < sizeBytes) return done(wrong(`ended after ${seenBytes} of ${sizeBytes} bytes`));
      const found = hash.digest('hex');
      if (sha256 !== undefined && found !== sha256) return done(wrong(`has a different SHA-256 (${found})`));
      done(null, last);
    },
  });
}
