import type { Channel } from '@headset-cloud/rpc/types.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { ServiceContext } from '../service.ts';

/** The ports of a service through which it changes anything outside its process. */
type Ports = Partial<Pick<ServiceContext, 'store' | 'database' | 'log' | 'channel' | 'channelToPeer'>>;

/**
 * The write at which a service crashes next: `before|after store|log|rpc SERVICE.NAME[.PART] [COUNT]`. NAME is a
 * collection, a topic, or a method of another service. PART, for a collection: the write's method, or a field that the
 * write changes; default: any write. COUNT: the number of the write among those that fit; default 1.
 */
export interface Crash {
  /** Undefined: there is none. The crash sets it to undefined. */
  cutAt: string | undefined;
}

const form = /^(before|after) (store|log|rpc) ([a-z-]+)\.([\w-]+)(?:\.(\w+))?(?: (\d+))?$/;

const writes: ReadonlySet<unknown> = new Set([
  ...['insertOne', 'insertMany', 'updateOne', 'updateMany', 'findOneAndUpdate'],
  ...['deleteOne', 'deleteMany', 'bulkWrite', 'createIndexes'],
]);

/** Reads the text of `cutAt`; throws a RangeError when it has another form. */
export function parseCrashPoint(text: string) {
  const [, when, port, service = '', name, part, count = '1'] = form.exec(text) ?? [];
  if (!when) throw new RangeError(`not a write at which a service can crash: ${text}`);
  return { when, port, service, name, part, count: Number(count) };
}

/** Ports that call `crash` at the write that `next` names; the write rejects with the error of `crash`. */
export function withCrashes<P extends Ports>(
  service: string,
  ports: P,
  next: () => Crash,
  crash: (cutAt: string) => void,
): P {
  let counted = { cutAt: '', times: 0 };
  const reach = (when: string, port: string, name: string, parts: () => ReadonlySet<string>): void => {
    const { cutAt } = next();
    if (cutAt === undefined) return;
    const point = parseCrashPoint(cutAt);
    if (point.when !== when || point.port !== port || point.service !== service || point.name !== name)
      return;
    if (point.part && !parts().has(point.part)) return;
    if (counted.cutAt !== cutAt) counted = { cutAt, times: 0 };
    counted.times += 1;
    if (counted.times < point.count) return;
    counted = { cutAt: '', times: 0 };
    next().cutAt = undefined;
    crash(cutAt);
  };
  const watch = <T extends object>(
    target: T,
    port: string,
    nameOf: (method: string, args: readonly never[]) => string | undefined,
  ): T =>
    replace(target, (method, call, args) => {
      const name = nameOf(method, args as never[]);
      if (name === undefined) return call();
      const parts = () => new Set([method, ...changedFields(method, args as never[])]);
      return (async () => {
        reach('before', port, name, parts);
        const result = await call();
        reach('after', port, name, parts);
        return result;
      })();
    });
  const ofStore = (store: Store): Store =>
    replace(store, (method, call, args) => {
      if (method === 'collection') {
        return watch(call() as object, 'store', (write) => (writes.has(write) ? String(args[0]) : undefined));
      }
      if (method !== 'forLongWork') return call();
      return store.forLongWork?.((within) =>
        (args[0] as (store: Store) => Promise<unknown>)(ofStore(within)),
      );
    });
  const ofChannel = (channel: Channel): Channel =>
    watch(channel, 'rpc', (call, [method]: readonly { name: string }[]) =>
      call === 'unary' ? method?.name : undefined,
    );
  const { store, database, log, channel, channelToPeer } = ports;
  return {
    ...ports,
    ...(store && { store: ofStore(store) }),
    ...(database && { database: (name: string) => ofStore(database(name)) }),
    ...(log && {
      log: watch(log, 'log', (call, [topic]: readonly string[]) => (call === 'publish' ? topic : undefined)),
    }),
    ...(channel && { channel: (to: never) => ofChannel(channel(to)) }),
    ...(channelToPeer && { channelToPeer: (address: string) => ofChannel(channelToPeer(address)) }),
  };
}

/** The object, with `run` in place of each of its methods. */
function replace<T extends object>(
  target: T,
  run: (method: string, call: () => unknown, args: readonly unknown[]) => unknown,
): T {
  return new Proxy(target, {
    get(of, key) {
      const value = Reflect.get(of, key) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => run(String(key), () => value.apply(of, args) as unknown, args);
    },
  });
}

/** The fields that a write to a collection inserts or changes; of a dotted path each part. */
function changedFields(method: string, [first, second = {}]: readonly unknown[]): string[] {
  const updates =
    method === 'bulkWrite'
      ? (first as object[]).flatMap((one) => Object.values(one)).map(({ update = {} }) => update)
      : [second];
  const documents = method.startsWith('insert')
    ? [first].flat()
    : updates.flatMap((one) => Object.values(one));
  return documents.flatMap((one) => Object.keys(one as object)).flatMap((path) => path.split('.'));
}
