import type { BlockList } from 'node:net';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { toDomainError } from '@headset-cloud/runtime/errors.ts';
import { addressOf } from '@headset-cloud/runtime/listeners/address.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { inSpan, SpanKind, SpanStatusCode } from '@headset-cloud/runtime/telemetry.ts';
import type { Middleware } from 'koa';
import { Counter, Histogram, type Registry } from 'prom-client';
import { sendError } from './answer.ts';
import { requestId } from './request-id.ts';

/** Data of a request that checks and handlers record for its log line, metric and span. */
export interface RequestState {
  /** The document's path; undefined for an unknown path. */
  route?: string;
  clientId?: string;
  requestId?: string;
}

/** Limits that cause 429: of the gateway (ADR 0040; `openapi` counts by address), and of services. */
const policies = [
  ...['calls', 'calls-under-way', 'device-changes', 'refused-calls'],
  ...['device-unprocessed', 'application-unprocessed', 'open-uploads', 'developer-uploads', 'openapi'],
  'test-callbacks',
];
/** Status codes for which the log line contains the caller's address. */
const statusesWithAddress: ReadonlySet<number> = new Set([401, 429]);

const bucketsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * The outermost middleware: request id, span, error answers, one log line and one measurement for each request (rule
 * C18). It logs no body, token or query.
 */
export function observe(options: {
  logger: Logger;
  metrics: Registry;
  /** Addresses of trusted proxies, each of which forwards requests of many clients. */
  proxies: BlockList;
  clock: Clock;
}): Middleware<RequestState> {
  const { logger, metrics, proxies, clock } = options;
  const duration = new Histogram({
    name: 'headset_gateway_request_duration_seconds',
    help: 'Time from the headers of a request to its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: bucketsS,
    registers: [metrics],
  });
  const limited = new Counter({
    name: 'headset_gateway_limited_total',
    help: 'Calls that this gateway answered with 429, by the policy of the limit as named in RateLimit-Policy: limits of the gateway and of services.',
    labelNames: ['limit'],
    registers: [metrics],
  });
  for (const limit of policies) limited.inc({ limit }, 0);
  return (ctx, next) => {
    const began = monotonicMs(clock);
    const id = requestId(ctx.req.headers['x-request-id']);
    ctx.set('X-Request-Id', id);
    ctx.state.requestId = id;
    ctx.set('Cache-Control', 'no-store');
    const { method } = ctx;
    const parent = ctx.get('traceparent');
    return inSpan(method, { kind: SpanKind.SERVER, parent }, async (span) => {
      let failure: unknown;
      try {
        await next();
      } catch (error) {
        failure = error;
        if (!ctx.headerSent) sendError(ctx, toDomainError(error));
      }
      const { status } = ctx;
      const route = ctx.state.route ?? 'unknown';
      const seconds = (monotonicMs(clock) - began) / 1000;
      duration.observe({ route, method, status }, seconds);
      if (status === 429) limited.inc({ limit: toDomainError(failure).limit?.policy ?? 'unknown' });
      span.updateName(`${method} ${route}`);
      span.setAttribute('http.request.method', method);
      span.setAttribute('http.route', route);
      span.setAttribute('http.response.status_code', status);
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      const line = {
        method,
        route,
        status,
        durationMs: Math.round(seconds * 1e6) / 1000,
        requestId: id,
        clientId: ctx.state.clientId,
        // Operators need the address, because the caller may be unknown or may use a stolen token.
        ...(statusesWithAddress.has(status) && { address: addressOf(ctx.req, proxies) }),
      };
      if (failure === undefined) logger.info(line, 'request');
      else logFailure(logger, line, failure, ctx.headerSent);
    });
  };
}

function logFailure(logger: Logger, line: { status: number }, failure: unknown, headersSent: boolean): void {
  const error = toDomainError(failure);
  const more = { ...line, code: error.code, internal: error.internal };
  if (headersSent) logger.warn({ ...more, err: error }, 'answer interrupted');
  else if (line.status >= 500) logger.error({ ...more, err: error.cause ?? error }, 'request failed');
  else logger.info(more, 'request');
}
