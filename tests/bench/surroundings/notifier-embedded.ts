import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import { buildNotifier } from '@headset-cloud/notifier/build.ts';
import { notifierConfig } from '@headset-cloud/notifier/config.ts';
import { createMetrics } from '@headset-cloud/process/process-metrics.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { destinationsStandIn, publishCommands } from '../lib/notifications.ts';
import { serveCommands } from '../lib/worker.ts';

/** The notifier alone on the embedded store and log, as the platform's one process holds it. */
let log: EventLog;
const commands = {
  start: async (o: { directory: string; urls: Readonly<Record<string, string>> }) => {
    const logger = createLogger({ service: 'notifier', level: 'error' });
    const database = openEmbeddedDatabase({ directory: o.directory });
    log = createEmbeddedLog(database, logger);
    const channel = new LocalChannel();
    channel.register([destinationsStandIn(o.urls)]);
    const notifier = buildNotifier(
      {
        logger,
        clock: systemClock,
        store: createEmbeddedStore(database).database('notifier'),
        log,
        channel: () => channel,
        metrics: createMetrics('notifier'),
        instanceId: 'bench',
      },
      readConfig(notifierConfig, { NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8' }),
    );
    await notifier.start();
  },
  ...publishCommands(() => log),
};
export type NotifierHost = typeof commands;
serveCommands(commands);
