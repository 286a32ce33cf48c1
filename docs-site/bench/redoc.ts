import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { parse } from 'yaml';
import { npmEnvironment } from '../tests/support/npm.ts';
import { cache } from './project.ts';

/** Version of Redoc for the comparison. */
const version = '2.5.4';

export interface RedocPage {
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves a page that shows the document with Redoc. Responses are compressed, as on the site's server. */
export async function serveRedoc(document: string): Promise<RedocPage> {
  const script = readFileSync(redocScript());
  const files = new Map<string, { type: string; content: Buffer }>([
    ['/', { type: 'text/html; charset=utf-8', content: Buffer.from(html) }],
    ['/redoc.js', { type: 'text/javascript', content: script }],
    [
      '/api.json',
      {
        type: 'application/json',
        content: Buffer.from(JSON.stringify(parse(readFileSync(document, 'utf8')))),
      },
    ],
  ]);
  const compressed = new Map(
    [...files].map(([path, { type, content }]) => [path, { type, content: brotliCompressSync(content) }]),
  );
  const server = createServer((request, response) => {
    const file = compressed.get(request.url ?? '');
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': file.type, 'content-encoding': 'br' }).end(file.content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const html = `<!doctype html>
<html lang="ja"><head><meta charset="utf-8"><title>API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><redoc spec-url="/api.json"></redoc><script src="/redoc.js"></script></body></html>`;

/** Returns the path of Redoc's bundle. Installs it on the first call. */
function redocScript(): string {
  const folder = join(cache, `redoc-${version}`);
  const file = join(folder, 'node_modules/redoc/bundles/redoc.standalone.js');
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--loglevel=error'];
    execFileSync('npm', ['install', `redoc@${version}`, ...flags], {
      ...{ cwd: folder, stdio: 'inherit', env: npmEnvironment() },
    });
  }
  return file;
}
