import { createReadStream } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { CtlError, exitCodes } from './exit-codes.ts';

/** Sends a file to a signed URL in one PUT, in a stream. Throws CtlError with what the storage said. */
export async function uploadFile(
  url: string,
  file: string,
  options: { contentType: string; sizeBytes: number; timeoutMs: number },
): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  const where = `${protocol}//${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
  const send = protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send(url, {
    method: 'PUT',
    headers: { 'content-type': options.contentType, 'content-length': options.sizeBytes },
  });
  request.setTimeout(options.timeoutMs, () =>
    request.destroy(new Error(`nothing moved for ${options.timeoutMs} ms`)),
  );
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  try {
    // The answer counts, not how sending ended: a refusal may come before all was sent, and a server may
    // close the connection behind its answer. A file that cannot be read ends the request with its error.
    pipeline(createReadStream(file), request).catch(() => {});
    const answer = await answered;
    const said = (await text(answer)).trim();
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299) {
      throw new CtlError(exitCodes.refused, `The upload was refused (${status}): ${said.slice(0, 500)}`);
    }
  } catch (error) {
    if (error instanceof CtlError) throw error;
    throw new CtlError(
      exitCodes.unreachable,
      `The upload to ${where} failed: ${(error as Error).message}. It is safe to repeat.`,
      { cause: error },
    );
  } finally {
    request.destroy();
  }
}
