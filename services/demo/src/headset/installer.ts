import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Artifact } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Behaviour } from './behaviour.ts';
import { sizeOf } from './download.ts';
import type { Http } from './http.ts';
import type { ReportBody } from './outbox.ts';
import { ProgressReports } from './progress.ts';
import { loadArtifact } from './update.ts';
import type { UrlRequests } from './urls.ts';

/** An update to load. */
export interface Loadable {
  readonly transactionId: number;
  readonly artifact: Artifact | undefined;
  /** Returns the ticket of the newest offer. */
  ticket(): Uint8Array;
}

interface InstallerOptions {
  readonly deviceId: string;
  /** Folder of downloads; absent: a temporary folder, so downloads do not survive a restart. */
  readonly directory: string | undefined;
  readonly behaviour: Behaviour;
  readonly http: Http;
  readonly urls: UrlRequests;
  readonly signal: AbortSignal;
  nowMs(): number;
  report(body: ReportBody): void;
  /** Called when a part of a transaction's update is loaded. */
  atLoading(transactionId: number): void;
}

/** Loads updates, reports their progress, and keeps the loaded bytes over a restart. */
export class Installer {
  readonly #options: InstallerOptions;
  #temporary: string | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: InstallerOptions) {
    this.#options = options;
  }

  /**
   * Loads an update, calls `onInstall` and waits for the installation time. Returns undefined if the update can take
   * effect, otherwise the reason of the failure. Throws if the headset is closed, or if `canceled` is aborted before
   * the installation.
   */
  prepare(update: Loadable, canceled: AbortSignal, onInstall: () => void): Promise<string | undefined> {
    const running = this.#prepare(update, canceled, onInstall);
    this.#running = Promise.allSettled([this.#running, running]).then(() => {});
    return running;
  }

  /** Deletes the loaded bytes of a transaction. */
  discard(transactionId: number): void {
    const directory = this.#options.directory ?? this.#temporary;
    if (directory !== undefined) rmSync(this.#path(directory, transactionId), { force: true });
  }

  /** Waits until no more writes happen; call it only after the signal is aborted. */
  async close(): Promise<void> {
    await this.#running;
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }

  async #prepare(
    { transactionId, artifact, ticket }: Loadable,
    canceled: AbortSignal,
    onInstall: () => void,
  ): Promise<string | undefined> {
    if (!artifact || artifact.sizeBytes <= 0n) return 'The update names no file.';
    const { behaviour, http, urls, nowMs, report, atLoading } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, canceled]);
    const sizeBytes = Number(artifact.sizeBytes);
    const path = this.#path(this.#directory(), transactionId);
    // After a restart, bytes of an earlier process count as progress before the download continues.
    const loaded = await sizeOf(path);
    signal.throwIfAborted();
    const progress = new ProgressReports(transactionId, behaviour, report);
    canceled.addEventListener('abort', () => progress.stop(), { once: true });
    try {
      progress.loaded(loaded / sizeBytes);
      const failure = await loadArtifact({
        ...{ artifact, ticket, http, urls, behaviour, signal, nowMs, path },
        onBytes: (bytes) => {
          progress.loaded(bytes / sizeBytes);
          if (bytes > 0 && bytes < sizeBytes) atLoading(transactionId);
        },
      });
      if (failure !== undefined) return failure;
      signal.throwIfAborted();
      onInstall();
      await sleep(behaviour.effectMs, undefined, { signal: this.#options.signal });
      return undefined;
    } finally {
      progress.stop();
    }
  }

  #directory(): string {
    const { directory } = this.#options;
    if (directory !== undefined) {
      mkdirSync(directory, { recursive: true });
      return directory;
    }
    this.#temporary ??= mkdtempSync(join(tmpdir(), 'headset-'));
    return this.#temporary;
  }

  #path(directory: string, transactionId: number): string {
    return join(directory, `${this.#options.deviceId}.update-${transactionId}.part`);
  }
}
