import type { Component } from './lifecycle.ts';

/**
 * OpenTelemetry (rule C18), configured by its standard variables. It is off and costs nothing while no
 * exporter is set (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_TRACES_EXPORTER).
 */
export function createTracing(serviceName: string, env: Record<string, string | undefined>): Component {
  let stop: (() => Promise<void>) | undefined;
  const wanted =
    env['OTEL_SDK_DISABLED'] !== 'true' &&
    Boolean(
      env['OTEL_EXPORTER_OTLP_ENDPOINT'] ||
        env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ||
        env['OTEL_TRACES_EXPORTER'],
    );
  return {
    name: 'tracing',
    async start() {
      if (!wanted) return;
      // Loaded only when tracing is on, because it costs memory and half a second.
      const { NodeSDK } = await import('@opentelemetry/sdk-node');
      const sdk = new NodeSDK({ serviceName: env['OTEL_SERVICE_NAME'] ?? serviceName });
      sdk.start();
      stop = () => sdk.shutdown();
    },
    async stop() {
      await stop?.();
    },
  };
}
