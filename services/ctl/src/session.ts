import type { DescMessage, DescService, MessageShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type { Terminal } from '@headset-cloud/cli/output.ts';
import { createFiles, type Files } from '@headset-cloud/cli/standard-streams.ts';
import type { ProcessStatus } from '@headset-cloud/process/admin-server.ts';
import { type Command, InvalidArgumentError } from 'commander';
import {
  type AdminProcess,
  type AdminService,
  adminAddresses,
  adminToken,
  askStatus,
  type ConnectionOptions,
  callAdmin,
  instancesOf,
  type NoStatus,
  operatorName,
} from './connection.ts';
import { json } from './output.ts';

/** Functions for the commands. Options are read when a command runs. */
export interface Session {
  readonly terminal: Terminal;
  /** The files that the command line names. */
  readonly files: Files;
  /** Calls a service's operators' listener. */
  call<S extends DescService, A>(
    service: AdminService,
    description: S,
    call: (client: Client<S>) => Promise<A>,
  ): Promise<A>;
  /** Asks every process of a service for its status. */
  status(of: AdminProcess): Promise<{ readonly name: string; readonly answer: ProcessStatus | NoStatus }[]>;
  /** Prints an answer: as JSON with --json, otherwise as text made by `text`. */
  show<S extends DescMessage>(
    schema: S,
    message: MessageShape<S>,
    text: (message: MessageShape<S>) => string,
  ): void;
  /** True with --json. */
  readonly json: boolean;
}

/** `root`: the program whose global options contain addresses and output format. */
export function createSession(
  root: Command,
  terminal: Terminal,
  env: Readonly<Record<string, string | undefined>>,
): Session {
  const options = () => root.opts<ConnectionOptions & { json?: boolean }>();
  const files = createFiles(terminal);
  return {
    terminal,
    files,
    get json() {
      return options().json === true;
    },
    async call(service, description, call) {
      const given = options();
      const connection = {
        service,
        addresses: adminAddresses(service, given, env),
        token: await adminToken(given, env, files),
        timeoutMs: given.timeoutMs,
        operator: operatorName(given, env),
      };
      return callAdmin(connection, description, call);
    },
    async status(of) {
      const given = options();
      const token = await adminToken(given, env, files);
      return Promise.all(
        (await instancesOf(of, given, env)).map(async ({ name, addresses }) => ({
          name,
          answer: await askStatus(addresses, token, given.timeoutMs),
        })),
      );
    },
    show(schema, message, text) {
      terminal.out(this.json ? json(schema, message) : text(message));
    },
  };
}

/** Parses a limit for commander. A quota of zero would reject every call. */
export function quota(text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new InvalidArgumentError('It is not a whole number of at least 1.');
  return Number(text);
}

/** Parses a transaction id for commander. */
export function transactionId(text: string): bigint {
  if (!/^\d{1,16}$/.test(text)) throw new InvalidArgumentError('It is not a transaction id.');
  return BigInt(text);
}

/** A month of a year. */
export interface Month {
  readonly year: number;
  readonly month: number;
}

/** Parses a month (2026-11) for commander. The service checks whether the month exists. */
export function month(text: string): Month {
  const [, year, month] = /^(\d{4})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined) throw new InvalidArgumentError('It is not a month such as 2026-11.');
  return { year: Number(year), month: Number(month) };
}
