import type { Clock } from '@headset-cloud/kit/clock.ts';
import { decodeEvent } from '@headset-cloud/kit/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/kit/eventlog/types.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import { inSpan, SpanKind } from '@headset-cloud/kit/telemetry.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { Outbox } from '../outbox.ts';
import type { TransactionStore } from '../ports.ts';
import { applyAnswer } from './app-answer.ts';
import { applyHello } from './hello.ts';
import { applyProgress } from './progress.ts';
import { applyResult } from './result.ts';
import { applyRevoked } from './revoked.ts';

/** What the consumers of the single kinds of reports need. */
export interface ReportDeps {
  readonly store: TransactionStore;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/** The work an event asks for; undefined: none. Read before anything is done. */
function workOf(event: DeviceReportEvent): ((deps: ReportDeps) => Promise<void>) | undefined {
  const { body } = event;
  if (body.case === 'hello') return (deps) => applyHello(deps, event, body.value);
  if (body.case !== 'report') return undefined;
  const report = body.value;
  switch (report.body.case) {
    case 'result': {
      const result = report.body.value;
      return (deps) => applyResult(deps, event, report, result);
    }
    case 'appAnswer': {
      const answer = report.body.value;
      return (deps) => applyAnswer(deps, event, report, answer);
    }
    case 'revoked': {
      const revoked = report.body.value;
      return (deps) => applyRevoked(deps, event, report, revoked);
    }
    case 'progress': {
      const progress = report.body.value;
      return (deps) => applyProgress(deps, event, report, progress);
    }
    default:
      return undefined;
  }
}

/**
 * What headsets report of transactions: progress, results, what they left, apps' answers; and each hello, which ends
 * a reset. Idempotent: each change is conditional on the transaction's state, so an event may come
 * twice, late or out of order.
 */
export function createReportConsumer(deps: ReportDeps): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    // Different devices at once, one device's events in their order.
    const chains = new Map<string, Promise<void>>();
    // All are read before anything is begun: what cannot be read throws while nothing is under way.
    const works = events.map((event) => workOf(decodeEvent(DeviceReportEventSchema, event)));
    for (const [n, event] of events.entries()) {
      const work = works[n];
      if (!work) continue;
      chains.set(
        event.key,
        (chains.get(event.key) ?? Promise.resolve()).then(() => traced(event, () => work(deps))),
      );
    }
    const outcomes = await Promise.allSettled(chains.values());
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };
}

/** In the trace of the call that made the transaction, where the event says which it is. */
function traced(event: LogEvent, work: () => Promise<void>): Promise<void> {
  const parent = event.headers['traceparent'];
  return parent ? inSpan('transaction-reports process', { kind: SpanKind.CONSUMER, parent }, work) : work();
}
