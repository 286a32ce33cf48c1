import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { cacheControl, contentSecurityPolicy } from './headers.ts';
import type { Manifest } from './manifest.ts';

export const encodings = ['br', 'gzip', 'identity'] as const;
export type Encoding = (typeof encodings)[number];

/** One file with its response headers and its bodies. */
export interface Stored {
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
  /** Body by content coding; files that the build did not compress have `identity` only. */
  readonly bodies: ReadonlyMap<Encoding, Buffer>;
}

/** The built site by path (`/docs/introduction/about/index.html`). */
export type Content = ReadonlyMap<string, Stored>;

export const notFoundFile = '/404.html';

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  jpg: 'image/jpeg',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webp: 'image/webp',
  woff2: 'font/woff2',
  xml: 'application/xml; charset=utf-8',
  yaml: 'application/yaml; charset=utf-8',
};

/**
 * Reads the whole built site into memory (about 7 MB). Later changes of the folder have no effect, requests open no
 * files, and only files that the build listed exist. Throws a ConfigError if the site is missing or damaged.
 */
export function readContent(dist: string): Content {
  try {
    // Resolves the link once: a later build changes the link, not the folder.
    const folder = realpathSync(dist);
    const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'server.json'), 'utf8'));
    const files = Object.entries(manifest.etags);
    const content = new Map(
      files.map(([file, hash]) => [file, readFile(join(folder, 'site'), file, hash, manifest)]),
    );
    if (!content.has(notFoundFile)) throw new Error(`${notFoundFile} is missing`);
    return content;
  } catch (error) {
    const why = (error as Error).message;
    const reason = `There is no complete built site in ${dist} (${why}): run "make site", or set SITE_DIST.`;
    throw new ConfigError([{ setting: 'SITE_DIST', reason }]);
  }
}

function readFile(folder: string, file: string, hash: string, manifest: Manifest): Stored {
  const path = join(folder, file);
  const bodies = new Map<Encoding, Buffer>([['identity', readFileSync(path)]]);
  for (const [encoding, suffix] of [
    ['br', '.br'],
    ['gzip', '.gz'],
  ] as const) {
    if (existsSync(path + suffix)) bodies.set(encoding, readFileSync(path + suffix));
  }
  const etag = `W/"${hash}"`;
  return {
    etag,
    bodies,
    headers: {
      'content-type': types[file.slice(file.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
      'content-security-policy': contentSecurityPolicy(manifest, file),
      'cache-control': cacheControl(file),
      vary: 'accept-encoding',
      etag,
    },
  };
}
