import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import { documentNames, readDocument, readDocumentText } from '../openapi/document.ts';

/** A contract document in one of its formats. */
interface Published {
  readonly type: string;
  readonly text: Buffer;
  readonly etag: string;
}

/** How long a client may cache a document; seconds. A new release has new documents. */
const maxAgeSeconds = 300;

function published(type: string, content: string): Published {
  const text = Buffer.from(content);
  return { type, text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
}

/** The contract documents as YAML and JSON, by file name. */
export function publishedDocuments(): ReadonlyMap<string, Published> {
  return new Map(
    documentNames.flatMap((name): [string, Published][] => [
      [`${name}.yaml`, published('application/yaml', readDocumentText(name))],
      [`${name}.json`, published('application/json', JSON.stringify(readDocument(name)))],
    ]),
  );
}

/** Answers GET and HEAD; 304 if the client already has this document (RFC 9110, section 13.1.2). */
export function sendDocument(ctx: Context, { type, text, etag }: Published): void {
  ctx.set('ETag', etag);
  ctx.set('Cache-Control', `public, max-age=${maxAgeSeconds}`);
  if (matchesEtag(ctx.req.headers['if-none-match'], etag)) {
    ctx.status = 304;
    return;
  }
  ctx.status = 200;
  ctx.set('Content-Type', type);
  ctx.set('Content-Length', String(text.length));
  // For HEAD, Koa sends only the headers.
  ctx.body = text;
}

/** True if If-None-Match contains the tag; weak comparison. */
function matchesEtag(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((one) => {
    const tag = one.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
