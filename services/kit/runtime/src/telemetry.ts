import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

export { SpanKind, SpanStatusCode };

const tracer = trace.getTracer('headset-cloud');

/** The active trace as a W3C traceparent; empty when nothing is traced. */
export function currentTraceparent(): string {
  if (!trace.getSpan(context.active())) return '';
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier['traceparent'] ?? '';
}

/** The context a traceparent describes; the root context when it is empty or malformed. */
export function contextFrom(traceparent: string | undefined): Context {
  return traceparent ? propagation.extract(ROOT_CONTEXT, { traceparent }) : ROOT_CONTEXT;
}

/**
 * Runs the handler of a call in a server span. Used only for calls that belong to a trace. Otherwise each call of a
 * sweeper or stream would start a separate, useless trace.
 */
export function inRpcSpan<T>(
  method: { readonly name: string; readonly parent: { readonly typeName: string } },
  traceparent: string,
  work: () => Promise<T>,
): Promise<T> {
  const service = method.parent.typeName;
  const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method.name };
  return inSpan(
    `${service}/${method.name}`,
    { kind: SpanKind.SERVER, parent: traceparent, attributes },
    work,
  );
}

/**
 * Runs `work` in a span; a failure is recorded and rethrown. `parent` is a stored traceparent (of a
 * document, or of a log event's header); without it the active span is the parent.
 */
export function inSpan<T>(
  name: string,
  options: { kind?: SpanKind; parent?: string; attributes?: Record<string, string | number | boolean> },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = options.parent === undefined ? context.active() : contextFrom(options.parent);
  return tracer.startActiveSpan(
    name,
    {
      kind: options.kind ?? SpanKind.INTERNAL,
      ...(options.attributes && { attributes: options.attributes }),
    },
    parent,
    async (span) => {
      try {
        return await work(span);
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).message });
        throw error;
      } finally {
        span.end();
      }
    },
  );
}
