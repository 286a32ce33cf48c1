import type { NodeSDK } from '@opentelemetry/sdk-node';
import { Counter, type Registry } from 'prom-client';
import type { Component } from './lifecycle.ts';

type Reader = NonNullable<NonNullable<ConstructorParameters<typeof NodeSDK>[0]>['metricReaders']>[number];

/**
 * OpenTelemetry (rule C18), configured by its standard environment variables. Without an exporter
 * (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER) it is off and costs
 * nothing. Registers headset_trace_spans_dropped_total with `metrics`.
 */
export function createTracing(
  serviceName: string,
  env: Record<string, string | undefined>,
  metrics: Registry,
): Component {
  let stop: (() => Promise<void>) | undefined;
  const isEnabled =
    env['OTEL_SDK_DISABLED'] !== 'true' &&
    Boolean(
      env['OTEL_EXPORTER_OTLP_ENDPOINT'] ||
        env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ||
        env['OTEL_TRACES_EXPORTER'],
    );
  return {
    name: 'tracing',
    async start() {
      if (!isEnabled) return;
      // Loaded only when tracing is on, because it costs memory and half a second.
      const { NodeSDK } = await import('@opentelemetry/sdk-node');
      // Enables the SDK's own metrics, which count the dropped spans.
      process.env['OTEL_NODE_EXPERIMENTAL_SDK_METRICS'] = 'true';
      const sdk = new NodeSDK({
        serviceName: env['OTEL_SERVICE_NAME'] ?? serviceName,
        // Reads only the number of dropped spans. All other metrics of the platform are registered with prom-client.
        metricReaders: [countDropped(metrics)],
      });
      sdk.start();
      stop = () => sdk.shutdown();
    },
    async stop() {
      await stop?.();
    },
  };
}

/** Exports the number of spans that the SDK has dropped, from the SDK's own metric of its span processors. */
function countDropped(metrics: Registry): Reader {
  let producer: Parameters<Reader['setMetricProducer']>[0] | undefined;
  const read = async () => {
    const counts = { queue_full: 0, export_failed: 0 };
    const scopes = (await producer?.collect())?.resourceMetrics.scopeMetrics ?? [];
    for (const { descriptor, dataPoints } of scopes.flatMap((scope) => scope.metrics)) {
      if (descriptor.name !== 'otel.sdk.processor.span.processed') continue;
      for (const { attributes, value } of dataPoints) {
        const error = attributes['error.type'];
        if (error === undefined) continue;
        counts[error === 'queue_full' ? error : 'export_failed'] += value as number;
      }
    }
    return counts;
  };
  new Counter({
    name: 'headset_trace_spans_dropped_total',
    help: 'Spans that are missing in the traces: queue_full, because the collector does not accept them fast enough; export_failed, because it did not accept them.',
    labelNames: ['reason'],
    registers: [metrics],
    async collect() {
      const counts = await read();
      this.reset();
      for (const [reason, count] of Object.entries(counts)) this.inc({ reason }, count);
    },
  });
  return {
    setMetricProducer(made) {
      producer = made;
    },
    collect: () => producer?.collect() ?? Promise.reject(new Error('the SDK has not started')),
    // The defaults of the SDK: AggregationType.DEFAULT, and AggregationTemporality.CUMULATIVE (sums since the start).
    selectAggregation: () => ({ type: 0 }),
    selectAggregationTemporality: () => 1,
    selectCardinalityLimit: () => 2000,
    async shutdown() {},
    async forceFlush() {},
  };
}
