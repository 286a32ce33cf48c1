import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { context, trace } from '@opentelemetry/api';
import { type Bindings, type ChildLoggerOptions, type Logger, pino, stdSerializers } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { censor, maskFields, maskSecrets, secretFields } from './log-secrets.ts';

export type { Logger };

/**
 * Maximum number of buffered characters while the log is not read. Further lines are dropped, so that a log collector
 * that hangs does not stop the process.
 */
const maxBuffered = 8 * 1024 * 1024;

/** Time that lines wait so that several are written together; milliseconds. A killed process loses these lines. */
const gatherMs = 10;
/** Maximum number of characters in one write. */
const maxGathered = 16 * 1024;

/** Maximum time that a stopping process waits until its log is read; milliseconds. */
const maxFlushMs = 1000;

/**
 * JSON logs with the trace's ids (rule C18). Callers log ids and outcomes, never bodies, keys or
 * tokens; the redaction below is a second safeguard.
 */
export function createLogger(options: {
  service?: string;
  level: string;
  destination?: number;
  /** Registry for headset_log_lines_dropped_total; absent: the metric is not registered. */
  metrics?: Registry;
}): Logger {
  const destination = openDestination(options.destination ?? 1);
  if (options.metrics) {
    const dropped = new Counter({
      name: 'headset_log_lines_dropped_total',
      help: 'Log lines that were dropped because the log of this process was not read.',
      registers: [options.metrics],
    });
    destination.on('drop', (lines: string) => dropped.inc(lines.split('\n').length - 1));
  }
  const logger = pino(
    {
      level: options.level,
      base: options.service ? { service: options.service } : {},
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'message',
      formatters: { level: (label) => ({ level: label }), log: maskFields },
      mixin: () => {
        const span = trace.getSpanContext(context.active());
        return span ? { traceId: span.traceId, spanId: span.spanId } : {};
      },
      serializers: { err: (error: Error) => maskSecrets(stdSerializers.err(error)) },
      redact: { paths: [...secretFields], censor },
    },
    destination,
  );
  // Masks the bindings of child loggers here, because pino does not pass them to its formatter.
  const { child } = logger;
  logger.child = function (this: Logger, bindings: Bindings, options?: ChildLoggerOptions) {
    return child.call(this, maskFields(bindings), options as undefined);
  } as typeof child;
  return logger;
}

type Destination = ReturnType<typeof pino.destination>;
const destinations = new Set<WeakRef<Destination>>();

/** Called when a process ends. Resolves when all lines are written or have failed, after one second at most. */
export async function flushLogs(): Promise<void> {
  const open = [...destinations].flatMap((reference) => reference.deref() ?? []);
  const flushed = open.map((destination) => new Promise<void>((done) => destination.flush(() => done())));
  await Promise.race([Promise.all(flushed), delay(maxFlushMs)]);
}

/**
 * Opens a destination that keeps lines that cannot be written (full disk) until the next write. pino's own destination
 * would end the process, and at a stop would retry without end.
 */
function openDestination(fd: number): Destination {
  let untilMs = Number.POSITIVE_INFINITY;
  let failing = false;
  const retryEAGAIN = () => Date.now() < untilMs;
  // `minLength: 1` writes lines at once, like the default. With the default, `flush` would not wait for the writes.
  const destination = pino.destination({
    fd,
    sync: false,
    minLength: 1,
    maxLength: maxBuffered,
    retryEAGAIN,
  });
  destination.on('error', () => {
    failing = true;
  });
  destination.on('write', () => {
    failing = false;
  });
  let gathered = '';
  let timer: NodeJS.Timeout | undefined;
  const [write, flush, flushSync] = [destination.write, destination.flush, destination.flushSync].map(
    (method) => method.bind(destination),
  ) as [Destination['write'], Destination['flush'], Destination['flushSync']];
  const passOn = () => {
    clearTimeout(timer);
    timer = undefined;
    const lines = gathered;
    gathered = '';
    if (lines !== '') write(lines);
  };
  destination.write = (line) => {
    gathered += line;
    if (gathered.length >= maxGathered) passOn();
    else timer ??= setTimeout(passOn, gatherMs).unref();
    return true;
  };
  destination.flush = (done) => {
    passOn();
    flush(done);
  };
  destination.flushSync = () => {
    if (failing) return;
    untilMs = Date.now() + maxFlushMs;
    try {
      flushSync();
      writeWhole(fd, gathered, untilMs);
    } catch {
      // The log is not read, or the disk is full: buffered lines are lost.
    }
    gathered = '';
    untilMs = Number.POSITIVE_INFINITY;
  };
  destinations.add(new WeakRef(destination));
  return destination;
}

/** Writes a text synchronously. Throws if it cannot be written, or if the log is not read before `untilMs`. */
function writeWhole(fd: number, text: string, untilMs: number): void {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || Date.now() >= untilMs) throw error;
      Atomics.wait(pause, 0, 0, 10);
    }
  }
}

/** Memory that never changes, for a synchronous wait by `Atomics.wait`. */
const pause = new Int32Array(new SharedArrayBuffer(4));
