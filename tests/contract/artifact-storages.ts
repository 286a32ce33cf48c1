import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { givenS3, type RunningS3, startS3, whyNoS3 } from '@headset-cloud/demo/stack/s3.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import { updatesConfig } from '@headset-cloud/updates/config.ts';
import { type ChosenStorage, chooseStorage } from '@headset-cloud/updates/storage/choose.ts';

/** One adapter of the ArtifactStorage port. */
export interface StorageStack {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing?: string | undefined;
  start(): Promise<ChosenStorage>;
  stop(): Promise<void>;
  /** The server, where this process started one. */
  server?(): RunningS3 | undefined;
}

const context = {
  logger: createLogger({ service: 'contract', level: 'silent' }),
  clock: systemClock,
  secrets: createSecretBox('a test secret of more than thirty-two characters'),
};

function choose(env: Record<string, string>): ChosenStorage {
  const config = readConfig(updatesConfig, env);
  return chooseStorage(context, config, {
    onUpload: async () => undefined,
    onUploaded: async () => ({ status: 200, text: 'stored' }),
  });
}

export function localStorageStack(): StorageStack {
  const directory = mkdtempSync(join(tmpdir(), 'artifacts-'));
  let chosen: ChosenStorage | undefined;
  return {
    name: 'this machine’s disk',
    async start() {
      chosen = choose({ DATA_DIR: directory, UPDATES_LISTEN: '127.0.0.1:0' });
      await chosen.start();
      return chosen;
    },
    async stop() {
      await chosen?.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The bucket of S3_ENDPOINT, else one of a server that is started here. */
export function s3StorageStack(): StorageStack {
  const directory = mkdtempSync(join(tmpdir(), 's3-'));
  let server: RunningS3 | undefined;
  let chosen: ChosenStorage | undefined;
  return {
    name: 'S3',
    missing: whyNoS3(),
    async start() {
      let environment = await givenS3();
      if (!environment) {
        server = await startS3(directory);
        environment = server.environment;
      }
      // Credentials are the SDK's own business: it reads its variables.
      Object.assign(process.env, environment);
      chosen = choose({ ...environment, UPDATES_TEMP_DIR: directory });
      await chosen.start();
      return chosen;
    },
    async stop() {
      await chosen?.stop();
      await server?.stop();
      rmSync(directory, { recursive: true, force: true });
    },
    server: () => server,
  };
}
