import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBacking } from '@headset-cloud/demo/stack/backing.ts';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { manageProcess } from '@headset-cloud/demo/stack/process.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { BaselineStore } from '../baselines/store.ts';
import { closedWithTheBench } from '../lib/cleanup.ts';
import type { publishCommands } from '../lib/notifications.ts';
import type { Settings } from '../lib/settings.ts';
import { startWorker, type Worker } from '../lib/worker.ts';
import type { NotifierHost } from '../surroundings/notifier-embedded.ts';
import type { Publisher } from '../surroundings/publisher.ts';

/** One notifier in its own process, and a publisher of notifications for it. */
export interface NotifierWorld {
  readonly publisher: Pick<Worker<ReturnType<typeof publishCommands>>, 'call'>;
  /** A store of the same kind for the baseline. */
  readonly baselineStore: BaselineStore;
  close(): Promise<void>;
}

/** `urls`: the URL of each application's endpoint. */
export async function startNotifierWorld(
  kind: StackKind,
  settings: Pick<Settings, 'profileDir'>,
  urls: Readonly<Record<string, string>>,
): Promise<NotifierWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-notifier-'));
  const baselineStore = { directory: join(dir, 'baseline') };
  const removeDir = () => rmSync(dir, { recursive: true, force: true });
  if (kind === 'embedded') {
    const host = startWorker<NotifierHost>('surroundings/notifier-embedded.ts', settings.profileDir);
    await host.call('start', { directory: join(dir, 'notifier'), urls });
    return {
      publisher: host,
      baselineStore,
      async close() {
        await host.stop();
        removeDir();
      },
    };
  }
  const backing = await startBacking(join(dir, 'backing'));
  const { mongodbUri, kafkaBrokers } = backing;
  const publisher = startWorker<Publisher>('surroundings/publisher.ts');
  const devicesPort = await publisher.call('start', { brokers: kafkaBrokers, urls });
  const [grpc = 0, admin = 0] = await freePorts(2);
  const notifier = manageProcess({
    name: 'notifier',
    entry: 'services/notifier/src/main.ts',
    env: {
      LOG_LEVEL: 'info',
      MONGODB_URI: mongodbUri,
      KAFKA_BROKERS: kafkaBrokers,
      KAFKA_REPLICATION_FACTOR: '1',
      DEVICES_ADDRESS: `127.0.0.1:${devicesPort}`,
      GRPC_LISTEN: `127.0.0.1:${grpc}`,
      ADMIN_LISTEN: `127.0.0.1:${admin}`,
      NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8',
    },
    logFile: join(dir, 'notifier.log'),
  });
  notifier.start();
  const close = closedWithTheBench(async () => {
    await notifier.kill();
    await publisher.stop();
    await backing.stop();
    removeDir();
  });
  try {
    await waitFor('the notifier to be ready', () => isReady(admin), { timeoutMs: 30_000 });
  } catch (error) {
    process.stderr.write(notifier.log().slice(-2000));
    await close();
    throw error;
  }
  return { publisher, baselineStore: { ...baselineStore, mongodbUri }, close };
}

async function isReady(adminPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).ok;
  } catch {
    return false;
  }
}
