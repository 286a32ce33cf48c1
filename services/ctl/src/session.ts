import type { DescMessage, DescService, MessageShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import * as cli from '@headset-cloud/cli/session.ts';
import type { ProcessStatus } from '@headset-cloud/process/admin-server.ts';
import type { Command } from 'commander';
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

/** Functions for the commands of ctl. */
export interface Session extends cli.Session {
  /** Calls a service's operators' listener. */
  call<S extends DescService, A>(
    service: AdminService,
    description: S,
    call: (client: Client<S>) => Promise<A>,
  ): Promise<A>;
  /** Asks every process of a service for its status. */
  status(of: AdminProcess): Promise<{ readonly name: string; readonly answer: ProcessStatus | NoStatus }[]>;
  /** Like `show`, for a message of protobuf. */
  showMessage<S extends DescMessage>(
    schema: S,
    message: MessageShape<S>,
    text: (message: MessageShape<S>) => string,
  ): void;
}

/** `root`: the program whose global options contain addresses and output format. */
export function createSession(root: Command, surroundings: cli.Surroundings): Session {
  const { env } = surroundings;
  const options = () => root.opts<ConnectionOptions>();
  const session = cli.createSession(root, surroundings);
  const { files } = session;
  return {
    ...session,
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
    showMessage(schema, message, text) {
      session.show(json(schema, message), () => text(message));
    },
  };
}
