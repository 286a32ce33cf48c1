import { decodeEvent } from '@headset-cloud/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/eventlog/types.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import { applyAnswer } from './app-answer.ts';
import type { ReportDeps } from './dependencies.ts';
import { applyHello } from './hello.ts';
import { applyProgress } from './progress.ts';
import { applyResult } from './result.ts';
import { applyRevoked } from './revoked.ts';

/** Returns the work for an event; undefined: the event is not relevant. */
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
 * Consumes headsets' reports about transactions (progress, results, revoked transactions, answers of apps) and
 * hellos. Idempotent: each change is conditional on the transaction's state, so an event may arrive twice, late or
 * out of order.
 */
export function createReportConsumer(deps: ReportDeps): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    // Devices are handled concurrently, the events of one device in order.
    const chains = new Map<string, Promise<void>>();
    // All events are decoded first, so that an event that cannot be decoded throws before any work starts.
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

/** Runs the work in the trace of the call that created the transaction, if the event has a trace context. */
function traced(event: LogEvent, work: () => Promise<void>): Promise<void> {
  const parent = event.headers['traceparent'];
  return parent ? inSpan('transaction-reports process', { kind: SpanKind.CONSUMER, parent }, work) : work();
}
