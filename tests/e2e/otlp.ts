import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span that the collector received over OTLP. */
export interface SeenSpan {
  /** service.name of the process that created it. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
}

/** A small collector: receives traces over OTLP/HTTP in JSON, and stores them. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly SeenSpan[];
  close(): Promise<void>;
}

interface ExportRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: {
      readonly attributes?: readonly { key: string; value: { stringValue?: string } }[];
    };
    readonly scopeSpans?: readonly {
      readonly spans?: readonly { name: string; traceId: string; spanId: string; parentSpanId?: string }[];
    }[];
  }[];
}

export async function startCollector(): Promise<Collector> {
  const spans: SeenSpan[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { resourceSpans = [] } = JSON.parse(Buffer.concat(parts).toString('utf8')) as ExportRequest;
    for (const { resource, scopeSpans = [] } of resourceSpans) {
      const name = resource?.attributes?.find((a) => a.key === 'service.name')?.value.stringValue;
      for (const { name: spanName, traceId, spanId, parentSpanId = '' } of scopeSpans.flatMap(
        (s) => s.spans ?? [],
      )) {
        spans.push({ service: name ?? '', name: spanName, traceId, spanId, parentSpanId });
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
