import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, metrics as globalMetrics, propagation, trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { waitFor } from './testing/wait.ts';
import { createTracing } from './tracing.ts';

const waiting: ServerResponse[] = [];
const collector = createServer((_, response) => void waiting.push(response));
const metrics = new Registry();

const before = { ...process.env };
afterAll(() => {
  collector.closeAllConnections();
  collector.close();
  // The SDK is the process's, as are its variables.
  for (const key of Object.keys(process.env)) if (!(key in before)) delete process.env[key];
  for (const api of [trace, context, propagation, globalMetrics]) api.disable();
});

const dropped = async () => {
  const values = (await metrics.getSingleMetric('headset_trace_spans_dropped_total')?.get())?.values ?? [];
  return Object.fromEntries(values.map(({ labels, value }) => [labels['reason'], value]));
};

test('spans are counted if the queue was full or their export failed', async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    ...{ OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5', OTEL_BSP_SCHEDULE_DELAY: '10' },
    OTEL_LOGS_EXPORTER: 'none',
  });
  const tracing = createTracing('test', process.env, metrics);
  await tracing.start();
  expect(await dropped()).toEqual({ queue_full: 0, export_failed: 0 });
  const tracer = trace.getTracer('test');
  // The first five are being exported, ten more wait.
  for (let i = 0; i < 100; i += 1) tracer.startSpan('one').end();
  await waitFor('an export', () => waiting.length === 1);
  expect(await dropped()).toEqual({ queue_full: 85, export_failed: 0 });
  waiting.shift()?.writeHead(400).end();
  await waitFor('the next export', () => waiting.length === 1);
  expect(await dropped()).toEqual({ queue_full: 85, export_failed: 5 });
  waiting.shift()?.writeHead(200).end();
  await waitFor('the last export', () => waiting.length === 1);
  waiting.shift()?.writeHead(200).end();
  await tracing.stop();
  expect(await dropped()).toEqual({ queue_full: 85, export_failed: 5 });
});
