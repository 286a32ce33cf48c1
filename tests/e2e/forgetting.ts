import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { MongoClient } from 'mongodb';
import { crashingAt } from '../faults/inside/environment.ts';
import { ctlWith } from './ctl.ts';
import type { OwnPlatform } from './own-platform.ts';

/** The collections in the table below this heading of docs/operations/data.md. */
export function documented(heading: string): string[] {
  const page = readFileSync(join(root, 'docs/operations/data.md'), 'utf8');
  const [, section = ''] = page.split(`### ${heading}\n`);
  const rows = (section.split('\n#')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([a-z_]+\.[A-Za-z]+)`/g)].map(([, name]) => String(name)),
  );
}

/** The bytes of every stored document, by database and collection. */
async function everyDocument(own: OwnPlatform): Promise<{ in: string; bytes: Buffer }[]> {
  const { backing } = own.stack;
  const found: { in: string; bytes: Buffer }[] = [];
  if (!backing) {
    const sql = new DatabaseSync(join(own.stack.dataDir, 'headset-cloud.db'), { readOnly: true });
    const collections = sql.prepare('SELECT number, namespace FROM store_collections').all();
    for (const { number, namespace } of collections) {
      for (const { document } of sql.prepare(`SELECT document FROM documents_${number}`).all()) {
        found.push({ in: String(namespace).replace('-', '_'), bytes: Buffer.from(document as Uint8Array) });
      }
    }
    sql.close();
    return found;
  }
  const prefix = backing.databasePrefix ?? 'headset_';
  const client = new MongoClient(backing.mongodbUri);
  try {
    for (const { name } of (await client.db().admin().listDatabases()).databases) {
      if (!name.startsWith(prefix)) continue;
      for (const { name: collection } of await client.db(name).listCollections().toArray()) {
        for await (const document of client.db(name).collection(collection).find({}, { raw: true })) {
          const namespace = `${name.slice(prefix.length)}.${collection}`;
          found.push({ in: namespace, bytes: document as unknown as Buffer });
        }
      }
    }
    return found;
  } finally {
    await client.close();
  }
}

/** Number of documents with the text, by collection. */
export async function countIn(own: OwnPlatform, text: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { in: name, bytes } of await everyDocument(own)) {
    if (holds(bytes, text)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map([...counts].sort());
}

/** Collections with a document that contains the text. */
export const inDocuments = async (own: OwnPlatform, text: string): Promise<string[]> => [
  ...(await countIn(own, text)).keys(),
];

/** Searches for the text, or for a number in BSON's eight bytes. */
function holds(bytes: Buffer, text: string): boolean {
  if (bytes.includes(text)) return true;
  if (!/^\d+\.\d+$/.test(text)) return false;
  const double = Buffer.alloc(8);
  double.writeDoubleLE(Number(text));
  return bytes.includes(double);
}

/** The output of --json: numbers of removed and remaining records, by service and kind. */
// biome-ignore lint/suspicious/noExplicitAny: the report as it was printed
export const counted = (out: string): Record<string, any> =>
  Object.fromEntries(
    // biome-ignore lint/suspicious/noExplicitAny: the report as it was printed
    JSON.parse(out).parts.map(({ service, forgotten }: any) => [
      service,
      // biome-ignore lint/suspicious/noExplicitAny: the report as it was printed
      Object.fromEntries(forgotten.map(({ what, removed, left }: any) => [what, [removed, left]])),
    ]),
  );

/** Runs ctl for the platform's services that can forget. */
export function ctlOf(own: OwnPlatform, ...args: string[]) {
  const { devices, transactions, notifier, communication, billing } = own.stack.admin;
  return ctlWith(
    {
      DEVICES_ADMIN: devices,
      TRANSACTIONS_ADMIN: transactions,
      NOTIFIER_ADMIN: notifier,
      COMMUNICATION_ADMIN: communication,
      BILLING_ADMIN: billing,
    },
    ...args,
  );
}

/** Has the platform's process, or the service's process, killed at this write (crash-points.ts) while `work` continues. */
export async function killedAt<T>(
  own: OwnPlatform,
  service: string,
  at: string,
  work: () => Promise<T>,
): Promise<T> {
  const name = own.stack.processes['platform'] ? 'platform' : service;
  const process = own.stack.processes[name];
  if (!process) throw new Error(`no process ${name}`);
  await process.stop();
  process.start(crashingAt(at));
  await own.stack.ready();
  const killed = process.exited;
  const done = await work();
  expect(await killed).toBe('SIGKILL');
  process.start();
  await own.stack.ready();
  return done;
}
