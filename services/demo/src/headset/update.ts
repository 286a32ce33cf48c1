import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Artifact,
  UrlRefusal,
  UrlRefusalSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Behaviour } from './behaviour.ts';
import { load, sizeOf } from './download.ts';
import type { Http } from './http.ts';
import type { UrlRequests } from './urls.ts';

/** Maximum number of downloads with a wrong size or hash per update. */
const maxWrongDownloads = 3;
/** Maximum number of consecutive URLs that are refused without a byte. */
const maxRefusedUrls = 5;
const maxRetryMs = 30_000;

/** An update to load, and the parts of the headset that load it. */
export interface Loading {
  readonly artifact: Artifact;
  /** Returns the newest ticket of the artifact. */
  ticket(): Uint8Array;
  /** The target file. A later call continues after the bytes in this file. */
  readonly path: string;
  readonly http: Http;
  readonly urls: UrlRequests;
  readonly behaviour: Behaviour;
  readonly signal: AbortSignal;
  /** The corrected clock; milliseconds since 1970. */
  nowMs(): number;
  /** Called with the number of bytes that are loaded so far. */
  onBytes(bytes: number): void;
}

interface DownloadUrl {
  readonly url: string;
  readonly expiresAtMs: number;
}

/**
 * Loads an update and verifies its size and hash (protocol page, "Updates"). Network failures are retried for
 * `downloadPatienceMs`. Returns undefined if the file is complete, otherwise the reason of the failure. Throws if
 * `signal` is aborted.
 */
export async function loadArtifact(loading: Loading): Promise<string | undefined> {
  const { artifact, path, http, behaviour, signal } = loading;
  const sizeBytes = Number(artifact.sizeBytes);
  let download: DownloadUrl | undefined;
  let [wrong, refused, cuts] = [0, 0, 0];
  // Time without a URL does not count, for example while the headset is offline.
  let idleMs = 0;
  for (;;) {
    if (!download || download.expiresAtMs <= loading.nowMs()) {
      const answer = await requestUrl(loading);
      if (typeof answer === 'string') return answer;
      download = answer;
    }
    const before = await sizeOf(path);
    let sinceMs = performance.now();
    const end = await load({
      ...{ http, url: download.url, path, sizeBytes, signal },
      onBytes: (bytes) => {
        sinceMs = performance.now();
        loading.onBytes(bytes);
      },
    });
    if ((await sizeOf(path)) > before) [refused, cuts, idleMs] = [0, 0, 0];
    if (end === 'whole' && (await isHashRight(loading))) return undefined;
    if (end === 'whole' || end === 'wrong') {
      await rm(path, { force: true });
      wrong += 1;
      if (wrong >= maxWrongDownloads) return 'The update is not what its size and hash say.';
      loading.onBytes(0);
    } else if (end === 'refused') {
      download = undefined;
      refused += 1;
      if (refused >= maxRefusedUrls) return "The update's addresses do not serve it.";
    }
    if (end !== 'refused' || refused > 1) {
      const waitMs = Math.min(maxRetryMs, behaviour.downloadRetryMs * 2 ** Math.min(cuts, 10));
      cuts += 1;
      const patienceMs = behaviour.downloadPatienceMs - idleMs - (performance.now() - sinceMs);
      if (waitMs > patienceMs) return 'The update could not be loaded.';
      await sleep(waitMs, undefined, { signal });
    }
    idleMs += performance.now() - sinceMs;
  }
}

/** Requests a download URL with the newest ticket. Returns the URL, or the reason of the refusal. */
async function requestUrl({ urls, ticket, signal }: Loading): Promise<DownloadUrl | string> {
  for (;;) {
    const asked = ticket();
    const { refusal, url, expiresAtMs } = await urls.ask({ case: 'downloadTicket', value: asked }, signal);
    if (refusal === UrlRefusal.UNSPECIFIED) {
      return { url, expiresAtMs: Number(expiresAtMs) || Number.POSITIVE_INFINITY };
    }
    // A new offer may have replaced the ticket during the request.
    const isNewest = Buffer.from(asked).equals(ticket());
    if (refusal !== UrlRefusal.NOT_FOUND || isNewest) {
      return `The update's address was refused: ${UrlRefusalSchema.value[refusal]?.name ?? refusal}.`;
    }
  }
}

async function isHashRight({ path, artifact }: Loading): Promise<boolean> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return hash.digest().equals(artifact.sha256);
}
