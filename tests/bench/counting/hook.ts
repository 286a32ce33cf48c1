import { renameSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Client } from '@grpc/grpc-js';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { MongoClient } from 'mongodb';

/**
 * Loaded before a process of the platform (`--import`): counts its SQLite statements, its MongoDB
 * commands (by the driver's command monitoring) and its calls to other services, and writes the
 * counts to BENCH_COUNT_DIR when it gets SIGUSR2.
 */
const counts: Record<string, number> = {};
const databases = new Set<DatabaseSync>();
const prepare = DatabaseSync.prototype.prepare;

function count(what: string, by = 1): void {
  counts[what] = (counts[what] ?? 0) + by;
}

DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql, ...rest) {
  databases.add(this);
  const statement = prepare.call(this, sql, ...rest);
  const what = `sql ${shortened(sql)}`;
  for (const method of ['run', 'get', 'all'] as const) {
    const original = statement[method].bind(statement) as (...values: unknown[]) => unknown;
    Object.assign(statement, {
      [method]: (...values: unknown[]) => {
        count(what);
        return original(...values);
      },
    });
  }
  return statement;
};

function shortened(sql: string): string {
  const table = /(?:INTO|UPDATE|FROM)\s+(\w+)/.exec(sql)?.[1] ?? '';
  return `${sql.trim().split(/\s/)[0]} ${table}`.trim();
}

const connect = MongoClient.prototype.connect;
/** Services of one process share a client, and each connects it. */
const counted = new WeakSet<MongoClient>();
MongoClient.prototype.connect = function (this: MongoClient) {
  if (counted.has(this)) return connect.call(this);
  counted.add(this);
  Object.assign(this, { monitorCommands: true });
  this.on('commandStarted', ({ command, commandName, databaseName }) => {
    const place = `${databaseName}.${command[commandName]}`;
    count(`mongo ${commandName} ${place}`);
    const items = command['documents'] ?? command['updates'] ?? command['deletes'];
    if (Array.isArray(items)) count(`mongo ${commandName} ${place}, documents`, items.length);
  });
  return connect.call(this);
};

const call = Client.prototype.makeUnaryRequest as (...values: unknown[]) => unknown;
Object.assign(Client.prototype, {
  makeUnaryRequest(this: Client, path: string, ...rest: unknown[]) {
    count(`gRPC ${path}`);
    return call.call(this, path, ...rest);
  },
});

const local = LocalChannel.prototype.unary;
LocalChannel.prototype.unary = function (this: LocalChannel, method, ...rest) {
  count(`local call /${method.parent.typeName}/${method.name}`);
  return local.call(this, method, ...rest);
};

/** The embedded store's tables have numbers as names; its catalogue says what each contains. */
function tableNames(): Map<string, string> {
  const names = new Map<string, string>();
  const read = (database: DatabaseSync, sql: string, prefix: string) => {
    for (const row of prepare.call(database, sql).all())
      names.set(`${prefix}${row['number']}`, String(row['name']));
  };
  for (const database of databases) {
    read(database, 'SELECT number, namespace AS name FROM store_collections', 'documents_');
    read(
      database,
      `SELECT i.number AS number, 'an index of ' || c.namespace AS name
       FROM store_indexes i JOIN store_collections c ON c.number = i.collection`,
      'index_',
    );
    read(database, 'SELECT id AS number, name FROM log_topics', 'log_events_');
  }
  return names;
}

const file = `${process.env['BENCH_COUNT_DIR']}/${process.pid}.json`;
process.on('SIGUSR2', () => {
  const names = tableNames();
  const named: Record<string, number> = {};
  for (const [what, times] of Object.entries(counts)) {
    const key = what.replace(/(documents|index|log_events)_\d+$/, (table) => {
      const name = names.get(table) ?? table;
      return table.startsWith('log') ? `topic ${name}` : name;
    });
    named[key] = (named[key] ?? 0) + times;
  }
  writeFileSync(`${file}.next`, JSON.stringify(named));
  renameSync(`${file}.next`, file);
});
