import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import type { ServiceDefinition } from '@headset-cloud/process/service.ts';
import { parseCrashPoint, withCrashes } from '@headset-cloud/process/testing/crash-points.ts';
import { type Inside, type Mutation, mutate } from './environment.ts';

/**
 * Loaded into each process of the platform before the product's code (NODE_OPTIONS=--import). The product contains no
 * code for it. It redirects connections to the test's relays, shifts the wall clock, removes safeguards, and kills the
 * process at a write. Monotonic clocks (timers, performance.now) do not change.
 */
const { routes, clockFile, mutations } = JSON.parse(process.env['FAULTS_INSIDE'] ?? '{}') as Partial<Inside>;
/** Interval of reading the clock file; milliseconds. */
const readIntervalMs = 25;
const root = join(import.meta.dirname, '..', '..', '..');
const crashAt = process.env['FAULTS_CRASH_AT'];

if (routes) redirectConnections(routes);
if (clockFile) shiftClock(clockFile);
if (mutations?.length) applyMutations(mutations);
if (crashAt && isMainThread) await crashAtWrite(crashAt);

/** Redirects connections: `table` maps an address to its relay. */
function redirectConnections(table: Readonly<Record<string, string>>): void {
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket;
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    // node:net passes a list with the options as its first member. Other callers pass the options.
    const list = Array.isArray(args[0]) ? args[0] : args;
    const options = list[0] as { host?: string; port?: number | string; path?: string | null } | undefined;
    if (options && typeof options === 'object' && !options.path) {
      const relay = table[`${options.host}:${options.port}`];
      const [host, port] = relay?.split(':') ?? [];
      if (host) list[0] = { ...options, host, port: Number(port) };
    }
    return connect.apply(this, args);
  } as typeof connect;
}

/** Shifts `Date` by the offset in the file; milliseconds. */
function shiftClock(file: string): void {
  const RealDate = Date;
  let offsetMs = 0;
  const readOffset = () => {
    try {
      offsetMs = Number(readFileSync(file, 'utf8')) || 0;
    } catch {
      offsetMs = 0;
    }
  };
  readOffset();
  setInterval(readOffset, readIntervalMs).unref();
  const now = () => RealDate.now() + offsetMs;

  function ShiftedDate(this: unknown, ...args: unknown[]): unknown {
    if (!new.target) return new RealDate(now()).toString();
    const target = (new.target as unknown) === ShiftedDate ? RealDate : new.target;
    return Reflect.construct(RealDate, args.length === 0 ? [now()] : args, target);
  }
  Object.defineProperties(ShiftedDate, {
    ...Object.getOwnPropertyDescriptors(RealDate),
    now: { value: now, writable: true, configurable: true, enumerable: false },
  });
  Object.defineProperty(RealDate.prototype, 'constructor', {
    value: ShiftedDate,
    writable: true,
    configurable: true,
    enumerable: false,
  });
  globalThis.Date = ShiftedDate as unknown as DateConstructor;
}

/** Applies mutations when files of the product are loaded. */
function applyMutations(changes: readonly Mutation[]): void {
  const byUrl = Map.groupBy(changes, ({ file }) => pathToFileURL(join(root, file)).href);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const due = byUrl.get(url);
      if (!due) return loaded;
      if (!loaded.source)
        throw new Error(`${url} was loaded without its source text, so it cannot be mutated`);
      const text =
        typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: due.reduce(mutate, text) };
    },
  });
}

/** Wraps the ports of the service in `cutAt` so that they kill the process at that write. */
async function crashAtWrite(cutAt: string): Promise<void> {
  const { service } = parseCrashPoint(cutAt);
  const file = join(root, 'services', service, 'src', 'definition.ts');
  const definitions: ServiceDefinition[] = Object.values(await import(pathToFileURL(file).href));
  const next = { cutAt } as { cutAt: string | undefined };
  for (const definition of definitions) {
    const { configure } = definition;
    Object.assign(definition, {
      configure(env: NodeJS.ProcessEnv) {
        const build = configure(env);
        return (context: Parameters<typeof build>[0]) =>
          build(
            withCrashes(
              service,
              context,
              () => next,
              () => process.kill(process.pid, 'SIGKILL'),
            ),
          );
      },
    });
  }
}
