import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { deadLettersCollection } from '../dead-letters/documents.ts';
import { notedKeysCollection } from '../sealed/noted-keys.ts';
import { type AuditOutbox, createAuditOutbox } from './outbox.ts';

type OutboxOptions = Parameters<typeof createAuditOutbox>[0];

/**
 * Creates the outbox for the audit records of dead letters and noted keys, which the kit stores in each service's
 * database and which operators change. A service has a separate outbox for its own documents.
 */
export function createOperatorsOutbox({
  store,
  log,
  ...options
}: Omit<OutboxOptions, 'collections' | 'log'> & {
  readonly store: Store;
  readonly log: Pick<EventLog, 'publish' | 'ensureTopics'>;
}): AuditOutbox {
  let hasTopic = false;
  return createAuditOutbox({
    ...options,
    collections: [deadLettersCollection, notedKeysCollection].map((name) => store.collection(name)),
    log: {
      // Creates the topic with the first record, because a service without dead letters and noted keys needs no topic.
      async publish(topic, events) {
        if (!hasTopic) await log.ensureTopics([topics.audit]);
        hasTopic = true;
        return log.publish(topic, events);
      },
    },
  });
}

/**
 * The outbox as a component of a process. It starts after the service has its database, and stops before the service.
 */
export function outboxComponent(outbox: AuditOutbox): Component {
  return {
    name: "the outbox of operators' audit records",
    start: async () => outbox.start(),
    stop: () => outbox.stop(),
  };
}
