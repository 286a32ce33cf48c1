import { join } from 'node:path';
import { egressProxyOf } from '@headset-cloud/outbound/egress-config.ts';
import type { SealingContext } from '@headset-cloud/process/service.ts';
import { addressText, ConfigError } from '@headset-cloud/runtime/config.ts';
import { type UpdatesConfig, updatesConfig } from '../config.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';
import { createLocalStorage } from './local.ts';
import { createLocalServer, type LocalServerOptions } from './local-server.ts';
import { createS3Storage } from './s3.ts';

/** The storage, and the components that run for it. */
export interface ChosenStorage {
  readonly storage: ArtifactStorage;
  /** Log fields that identify the storage: bucket and endpoint, or folder. */
  readonly location: Readonly<Record<string, string>>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * S3 if a bucket is configured, otherwise this machine's disk with its own server (rule C16). Throws ConfigError. Only
 * the disk's server calls `hooks`; S3 does not report uploads.
 */
export function chooseStorage(
  { secrets, clock, logger, listeners }: Pick<SealingContext, 'secrets' | 'clock' | 'logger' | 'listeners'>,
  config: UpdatesConfig,
  hooks: Pick<LocalServerOptions, 'onUpload' | 'onUploaded'>,
): ChosenStorage {
  if (config.S3_BUCKET) {
    const storage = createS3Storage({
      endpoint: config.S3_ENDPOINT,
      publicEndpoint: config.S3_PUBLIC_ENDPOINT,
      bucket: config.S3_BUCKET,
      region: config.S3_REGION,
      tempDir: config.UPDATES_TEMP_DIR,
      proxy: egressProxyOf(config),
    });
    return {
      storage,
      location: { bucket: config.S3_BUCKET, endpoint: config.S3_ENDPOINT ?? `AWS, ${config.S3_REGION}` },
      start: () => storage.prepare(),
      stop: async () => storage.close(),
    };
  }
  if (config.S3_ENDPOINT) {
    throw new ConfigError([
      {
        setting: 'S3_BUCKET',
        reason: `S3_BUCKET is missing, but S3_ENDPOINT is set. Set both, or neither. Example: S3_BUCKET=${updatesConfig.S3_BUCKET.example}`,
      },
    ]);
  }
  const { UPDATES_LISTEN: listen, UPDATES_PUBLIC_URL: publicUrl } = config;
  if (!publicUrl && ['0.0.0.0', '::'].includes(listen.host)) {
    throw new ConfigError([
      {
        setting: 'UPDATES_PUBLIC_URL',
        reason:
          `UPDATES_PUBLIC_URL is missing, but UPDATES_LISTEN is ${addressText(listen)}, which is no address to reach. ` +
          'Example: UPDATES_PUBLIC_URL=https://files.example.com',
      },
    ]);
  }
  const folder = join(config.DATA_DIR, 'artifacts');
  const storage = createLocalStorage({
    folder,
    secrets,
    publicUrl: () =>
      (publicUrl ?? `http://${addressText({ host: listen.host, port: server.port() })}`).replace(/\/$/, ''),
  });
  const server = createLocalServer({
    ...{ listen, storage, secrets, clock, logger, ...hooks, ...(listeners && { listeners }) },
    requestTimeoutMs: Math.max(config.UPDATES_UPLOAD_URL_SECONDS, config.UPDATES_DOWNLOAD_URL_SECONDS) * 1000,
  });
  return {
    storage,
    location: { folder },
    async start() {
      await storage.prepare();
      await server.start();
    },
    stop: () => server.stop(),
  };
}
