import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Inside } from './environment.ts';

/**
 * Loaded into each process of the platform before its own code (NODE_OPTIONS=--import): the product knows
 * nothing of it. It leads connections to the test's relays and shifts the wall clock. What is monotonic
 * (timers, performance.now) stays as it is.
 */
const { routes, clockFile } = JSON.parse(process.env['FAULTS_INSIDE'] ?? '{}') as Partial<Inside>;
/** How soon a step of the clock is seen; milliseconds. */
const lookEachMs = 25;

if (routes) leadThrough(routes);
if (clockFile) shiftClock(clockFile);

/** Whoever connects to an address of the table connects to the relay that stands for it. */
function leadThrough(table: Readonly<Record<string, string>>): void {
  const connect = Socket.prototype.connect as (...args: unknown[]) => Socket;
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    // node:net hands on a list with the options as its first member; others call with the options.
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

/** `Date` tells a time that is off by the number in the file; milliseconds. */
function shiftClock(file: string): void {
  const RealDate = Date;
  let offsetMs = 0;
  const look = () => {
    try {
      offsetMs = Number(readFileSync(file, 'utf8')) || 0;
    } catch {
      offsetMs = 0;
    }
  };
  look();
  setInterval(look, lookEachMs).unref();
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
