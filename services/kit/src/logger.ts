import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { context, trace } from '@opentelemetry/api';
import { type Bindings, type ChildLoggerOptions, type Logger, pino, stdSerializers } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { censor, cover, coverFields, secretFields } from './log-secrets.ts';

export type { Logger };

/** What waits while nobody reads the log, in characters; more lines are dropped, so that a stuck collector ends no process. */
const mostWaiting = 8 * 1024 * 1024;

/** For how long lines may wait for others that are written with them; milliseconds. Lost with a killed process. */
const gatherMs = 10;
/** So much is written at once; characters. */
const mostGathered = 16 * 1024;

/** How long the end of a process waits for whoever reads its log; milliseconds. */
const mostAtEndMs = 1000;

/**
 * JSON logs with the trace's ids (rule C18). Callers log ids and outcomes, never bodies, keys or
 * tokens; the redaction below is the second line of defence.
 */
export function createLogger(options: {
  service?: string;
  level: string;
  destination?: number;
  /** Gets headset_log_lines_dropped_total. */
  metrics?: Registry;
}): Logger {
  const destination = openDestination(options.destination ?? 1);
  if (options.metrics) {
    const dropped = new Counter({
      name: 'headset_log_lines_dropped_total',
      help: 'Log lines that were dropped because nobody read the log of this process.',
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
      formatters: { level: (label) => ({ level: label }), log: coverFields },
      mixin: () => {
        const span = trace.getSpanContext(context.active());
        return span ? { traceId: span.traceId, spanId: span.spanId } : {};
      },
      serializers: { err: (error: Error) => cover(stdSerializers.err(error)) },
      redact: { paths: [...secretFields], censor },
    },
    destination,
  );
  // pino's formatter of bindings does not see those of a child.
  const { child } = logger;
  logger.child = function (this: Logger, bindings: Bindings, options?: ChildLoggerOptions) {
    return child.call(this, coverFields(bindings), options as undefined);
  } as typeof child;
  return logger;
}

type Destination = ReturnType<typeof pino.destination>;
const destinations = new Set<WeakRef<Destination>>();

/** For the end of a process: resolves when all lines are written, or cannot be; after a second at the latest. */
export async function flushLogs(): Promise<void> {
  const open = [...destinations].flatMap((reference) => reference.deref() ?? []);
  const flushed = open.map((destination) => new Promise<void>((done) => destination.flush(() => done())));
  await Promise.race([Promise.all(flushed), delay(mostAtEndMs)]);
}

/**
 * Where a line cannot be written (a full disk), it waits for the next one. pino's own destination would end the
 * process for that, and at its end try for ever.
 */
function openDestination(fd: number): Destination {
  let untilMs = Number.POSITIVE_INFINITY;
  let failing = false;
  const retryEAGAIN = () => Date.now() < untilMs;
  // What comes here is written at once, as without a least length; but without one, flush waits for nothing.
  const destination = pino.destination({
    fd,
    sync: false,
    minLength: 1,
    maxLength: mostWaiting,
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
    if (gathered.length >= mostGathered) passOn();
    else timer ??= setTimeout(passOn, gatherMs).unref();
    return true;
  };
  destination.flush = (done) => {
    passOn();
    flush(done);
  };
  destination.flushSync = () => {
    if (failing) return;
    untilMs = Date.now() + mostAtEndMs;
    try {
      flushSync();
      writeWhole(fd, gathered, untilMs);
    } catch {
      // Nobody reads, or there is no room: what waits is lost.
    }
    gathered = '';
    untilMs = Number.POSITIVE_INFINITY;
  };
  destinations.add(new WeakRef(destination));
  return destination;
}

/** Writes a text at once. Throws when it cannot be written, or nobody reads until `untilMs`. */
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

const pause = new Int32Array(new SharedArrayBuffer(4));
