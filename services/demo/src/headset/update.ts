import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Artifact,
  UrlRefusal,
  UrlRefusalSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Behaviour, breaks } from './behaviour.ts';
import { load, sizeOf } from './download.ts';
import type { UrlRequests } from './urls.ts';

/** Most downloads of one update with a wrong hash. */
const wrongLoads = 3;
/** Most consecutive URLs that are refused without a byte. */
const refusedUrls = 5;
const longestRetryMs = 30_000;

/** What loading an update needs. */
export interface Loading {
  readonly artifact: Artifact;
  /** The newest ticket of the artifact. */
  ticket(): Uint8Array;
  /** The target file; a later call continues with the bytes in it. */
  readonly path: string;
  readonly urls: UrlRequests;
  readonly behaviour: Behaviour;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970, by the cloud's clock. */
  nowMs(): number;
  /** Called with the number of bytes that are there. */
  onBytes(bytes: number): void;
}

/**
 * Loads an update until its bytes are those of the artifact; network failures are retried within the time
 * limit of the behaviour. Returns why it failed; undefined when the file is complete. Throws when `signal`
 * is aborted.
 */
export async function loadArtifact(loading: Loading): Promise<string | undefined> {
  const { artifact, path, behaviour, signal } = loading;
  const sizeBytes = Number(artifact.sizeBytes);
  let address: { url: string; expiresAtMs: number } | undefined;
  let [wrong, refused, cuts] = [0, 0, 0];
  // Without the time in which there is no address, as in a headset that is offline.
  let idleMs = 0;
  for (;;) {
    const expires = address?.expiresAtMs || Number.POSITIVE_INFINITY;
    const expired = expires <= loading.nowMs() && !breaks(behaviour, 'uses-expired-address');
    if (!address || expired) {
      const ticket = loading.ticket();
      const answer = await loading.urls.ask({ case: 'downloadTicket', value: ticket }, signal);
      // An offer has brought another ticket since.
      const isOld = !Buffer.from(ticket).equals(loading.ticket());
      if (answer.refusal === UrlRefusal.NOT_FOUND && isOld) continue;
      if (answer.refusal !== UrlRefusal.UNSPECIFIED && breaks(behaviour, 'asks-for-ever')) {
        await sleep(behaviour.downloadRetryMs, undefined, { signal });
        continue;
      }
      if (answer.refusal !== UrlRefusal.UNSPECIFIED) {
        return `The update's address was refused: ${UrlRefusalSchema.value[answer.refusal]?.name ?? answer.refusal}.`;
      }
      address = { url: answer.url, expiresAtMs: Number(answer.expiresAtMs) };
    }
    const before = await sizeOf(path);
    let sinceMs = performance.now();
    const end = await load({
      ...{ url: address.url, path, sizeBytes, signal },
      followsNoRedirect: breaks(behaviour, 'follows-no-redirect'),
      followsEndlessly: breaks(behaviour, 'follows-endlessly'),
      refusedBy429: breaks(behaviour, 'refused-by-429'),
      appendsWhole: breaks(behaviour, 'appends-whole'),
      bytesPerSecond: () => behaviour.downloadBytesPerSecond,
      authorization: breaks(behaviour, 'authorizes-downloads') ? 'Bearer unwanted' : undefined,
      onBytes: (() => {
        let last = before;
        return (bytes) => {
          const limit = behaviour.cutDownloadAtBytes;
          const cut = limit > 0 && last < limit && bytes >= limit;
          last = bytes;
          sinceMs = performance.now();
          loading.onBytes(bytes);
          return !cut;
        };
      })(),
    });
    const breaksRow = end === 'cut' && breaks(behaviour, 'trouble-breaks-row');
    if ((await sizeOf(path)) > before) {
      [cuts, idleMs] = [0, 0];
      if (!breaks(behaviour, 'counts-all-refusals')) refused = 0;
    } else if (breaksRow) refused = 0;
    if (end === 'whole' && (await hashIsRight(loading))) return undefined;
    if (end === 'whole' || end === 'wrong') {
      if (end === 'whole' || !breaks(behaviour, 'keeps-part')) await rm(path, { force: true });
      if (end === 'whole' || !breaks(behaviour, 'forgives-ranges')) wrong += 1;
      if (wrong >= wrongLoads) return 'The update is not what its size and hash say.';
      loading.onBytes(0);
    } else if (end === 'refused') {
      if (!breaks(behaviour, 'keeps-refused-address')) address = undefined;
      refused += 1;
      const endless = breaks(behaviour, 'keeps-refused-address') || breaks(behaviour, 'asks-for-ever');
      if (refused >= refusedUrls && !endless) return "The update's addresses do not serve it.";
    }
    if (end === 'cut' && breaks(behaviour, 'fresh-address-each-time')) address = undefined;
    if (end === 'cut' && breaks(behaviour, 'loads-again')) await rm(path, { force: true });
    if (end !== 'refused' || refused > 1) {
      const doublings = breaks(behaviour, 'waits-alike') ? 0 : Math.min(cuts, 10);
      const waitMs = Math.min(longestRetryMs, behaviour.downloadRetryMs * 2 ** doublings);
      cuts += 1;
      const patienceMs = behaviour.downloadPatienceMs - idleMs - (performance.now() - sinceMs);
      if (waitMs > patienceMs) return 'The update could not be loaded.';
      await sleep(waitMs, undefined, { signal });
    }
    idleMs += performance.now() - sinceMs;
  }
}

async function hashIsRight({ path, behaviour, artifact }: Loading): Promise<boolean> {
  if (behaviour.corruptDownloads > 0) {
    behaviour.corruptDownloads -= 1;
    const file = await open(path, 'r+');
    const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: 0 });
    await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, 0);
    await file.close();
  }
  if (breaks(behaviour, 'ignores-wrong-hash')) return true;
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return hash.digest().equals(artifact.sha256);
}
