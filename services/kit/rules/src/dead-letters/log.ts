import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { errorText } from '@headset-cloud/runtime/error-text.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { Gauge, type Registry } from 'prom-client';
import type { PendingAuditRecord } from '../audit/record.ts';
import type { DeadLetterDocument } from './documents.ts';
import { Replays, unclaimableError } from './replays.ts';
import { DeadLetterStore } from './store.ts';

const dayMs = 86_400_000;

export interface DeadLettersOptions {
  /** The service's own database. */
  readonly store: Store;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Retention period of a dead letter while it waits for an operator, and again after its end; default 30 days. */
  readonly keepMs?: number;
  /** Interval of the search for replays that a dead process has not completed; default 10 s. */
  readonly replayEveryMs?: number;
}

/** Operators' actions on the dead letters of a service (admin.ts). */
export interface DeadLetters {
  list(limit: number, ended: boolean): Promise<DeadLetterDocument[]>;
  get(id: string): Promise<DeadLetterDocument | null>;
  /** Replays the event. The write that claims the event also stores the audit record. */
  replay(id: string, reason: string, record: PendingAuditRecord): Promise<DeadLetterDocument | null>;
  /** Discards the event. The same write also stores the audit record. */
  discard(id: string, reason: string, record: PendingAuditRecord): Promise<DeadLetterDocument | null>;
  /** Number of dead letters that are neither replayed nor discarded. */
  countOpen(): Promise<number>;
}

/** Registers the metric of open dead letters of a process's services. */
export function registerDeadLetters(metrics: Registry, services: readonly DeadLetters[]): void {
  const count = async (): Promise<number> =>
    (await Promise.all(services.map((one) => one.countOpen()))).reduce((sum, n) => sum + n, 0);
  new Gauge({
    name: 'headset_dead_letters',
    help: 'Events that could not be handled and are neither replayed nor discarded. Whole platform: use max, not sum.',
    registers: [metrics],
    async collect() {
      await setOrLeaveOut(this, {}, count);
    },
  });
}

/**
 * Decorates a service's event log: its subscriptions store events that they cannot handle in the service's
 * database (ADR 0020).
 */
export function withDeadLetters(
  log: EventLog,
  options: DeadLettersOptions,
): { readonly log: EventLog; readonly deadLetters: DeadLetters } {
  const { store, logger, clock = systemClock, replayEveryMs = 10_000 } = options;
  const deadLetters = new DeadLetterStore(store, clock, options.keepMs ?? 30 * dayMs);
  const all = new Set<Replays>();
  return {
    log: {
      ...methodsOf(log),
      async subscribe(subscription) {
        const replays = new Replays(subscription, { deadLetters, logger, replayEveryMs });
        const running = await log.subscribe({
          ...subscription,
          storeDeadLetter: (event, error) => deadLetters.add(event, subscription.group, errorText(error)),
        });
        all.add(replays);
        replays.start();
        return {
          notReady: () => running.notReady(),
          async close() {
            all.delete(replays);
            await replays.stop();
            await running.close();
          },
        };
      },
    },
    deadLetters: {
      list: (limit, ended) => deadLetters.newest(limit, ended),
      get: (id) => deadLetters.get(id),
      async replay(id, reason, record) {
        const deadLetter = await deadLetters.get(id);
        if (!deadLetter?.open) throw await unclaimableError(deadLetters, id);
        const replays = [...all].find(
          (one) => one.group === deadLetter.group && one.topic === deadLetter.topic,
        );
        if (!replays) {
          throw new DomainError('unavailable', `${deadLetter.group} does not consume here at the moment.`, {
            retryAfterMs: 1000,
          });
        }
        await replays.replay(id, { reason, record });
        return deadLetters.get(id);
      },
      async discard(id, reason, record) {
        const discarded = await deadLetters.discard(id, { reason, record });
        if (!discarded) throw await unclaimableError(deadLetters, id);
        return discarded;
      },
      countOpen: () => deadLetters.countOpen(),
    },
  };
}

/** Returns the methods of a log as own properties: spreading an instance of a class would not copy its methods. */
function methodsOf(log: EventLog): EventLog {
  return {
    ensureTopics: (names) => log.ensureTopics(names),
    publish: (topic, events, options) => log.publish(topic, events, options),
    subscribe: (subscription) => log.subscribe(subscription),
    readNewest: (topic, limit) => log.readNewest(topic, limit),
    lag: (group, topic) => log.lag(group, topic),
    committed: (group, topic) => log.committed(group, topic),
    notReady: () => log.notReady(),
    close: () => log.close(),
  };
}
