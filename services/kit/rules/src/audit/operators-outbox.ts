import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { deadLettersCollection } from '../dead-letters/documents.ts';
import { notedKeysCollection } from '../sealed/noted-keys.ts';
import { type AuditOutbox, createAuditOutbox } from './outbox.ts';

type OutboxOptions = Parameters<typeof createAuditOutbox>[0];

/**
 * Outbox for the audit records of documents that the kit keeps in a service's database and operators change: dead
 * letters and noted keys. A service has a separate outbox for its own documents.
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
      // With the first record, not at the start: a service without dead letters and keys needs no topic.
      async publish(topic, events) {
        if (!hasTopic) await log.ensureTopics([topics.audit]);
        hasTopic = true;
        return log.publish(topic, events);
      },
    },
  });
}

/** Runs the outbox in a process: started when the service has its database, stopped before it. */
export function outboxComponent(outbox: AuditOutbox): Component {
  return {
    name: "the outbox of operators' audit records",
    start: async () => outbox.start(),
    stop: () => outbox.stop(),
  };
}
