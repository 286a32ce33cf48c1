import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import sirv from 'sirv';
import { cacheControl, contentSecurityPolicy, fixedHeaders } from './headers.ts';
import type { Dist } from './manifest.ts';
import { routeOf } from './routing.ts';

const notFoundFile = '/404.html';

const types: Readonly<Record<string, string>> = {
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.xml': 'application/xml; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** The public server: it answers GET and HEAD from the built folder and from nowhere else. */
export function buildApp({ files, manifest }: Dist, onAnswer: (status: number) => void): Server {
  const policies = new Map<string, string>();
  const policyOf = (file: string) => {
    const known = policies.get(file) ?? contentSecurityPolicy(manifest, file);
    policies.set(file, known);
    return known;
  };
  const serve = sirv(files, {
    etag: false,
    gzip: true,
    brotli: true,
    extensions: [],
    // The build's own list decides what is there; sirv's for hidden files would hide nothing more.
    dotfiles: false,
  });
  const missing = readFileSync(join(files, notFoundFile));

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    for (const [name, value] of Object.entries(fixedHeaders)) response.setHeader(name, value);
    response.setHeader('content-security-policy', policyOf(notFoundFile));
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain; charset=utf-8' });
      return response.end('Only GET and HEAD.\n');
    }
    const route = routeOf(request.url ?? '/', (file) => Object.hasOwn(manifest.etags, file));
    if (route.to === 'redirect') {
      response.writeHead(301, { location: route.location, 'cache-control': 'public, max-age=3600' });
      return response.end();
    }
    if (route.to === 'nothing') return notFound(request, response);
    const { file } = route;
    const etag = `W/"${manifest.etags[file]}"`;
    response.setHeader('content-security-policy', policyOf(file));
    response.setHeader('cache-control', cacheControl(file));
    response.setHeader('etag', etag);
    response.setHeader('vary', 'accept-encoding');
    const type = types[file.slice(file.lastIndexOf('.'))];
    if (type) response.setHeader('content-type', type);
    if (matches(request.headers['if-none-match'], etag)) {
      response.writeHead(304);
      return response.end();
    }
    // A part of a compressed file would be of no use.
    delete request.headers.range;
    request.url = encodeURI(file).replaceAll('?', '%3F').replaceAll('#', '%23');
    serve(request, response, () => notFound(request, response));
  };

  const notFound = (request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-length': missing.length,
    });
    response.end(request.method === 'HEAD' ? undefined : missing);
  };

  return createServer((request, response) => {
    response.once('close', () => onAnswer(response.statusCode));
    answer(request, response);
  });
}

const matches = (given: string | undefined, etag: string): boolean =>
  given !== undefined && (given.trim() === '*' || given.split(',').some((one) => one.trim() === etag));
