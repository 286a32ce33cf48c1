import { connectKafka } from '@headset-cloud/eventlog/kafka.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { destinationsStandIn, publishCommands } from '../lib/notifications.ts';
import { serveCommands } from '../lib/worker.ts';

/** The surroundings of a notifier process on the real stack: a publisher and a stand-in for devices. */
const logger = createLogger({ service: 'bench', level: 'error' });
let log: EventLog;
const commands = {
  /** Returns the stand-in's port. */
  start: async (o: { brokers: string; urls: Readonly<Record<string, string>> }): Promise<number> => {
    log = connectKafka({
      brokers: o.brokers.split(','),
      clientId: 'bench',
      logger,
      replicationFactor: 1,
      onFatal: (error) => {
        throw error;
      },
    });
    await log.ensureTopics([topics.notifications]);
    return new RpcServer([destinationsStandIn(o.urls)], logger).start({ host: '127.0.0.1', port: 0 });
  },
  ...publishCommands(() => log),
};
export type Publisher = typeof commands;
serveCommands(commands);
