import { CliError } from '@headset-cloud/kit/cli/exit-codes.ts';
import { wholeNumber } from '@headset-cloud/kit/cli/options.ts';
import { fields, table } from '@headset-cloud/kit/cli/output.ts';
import {
  CommunicationAdminService,
  type Endpoint,
  ListEndpointsResponseSchema,
  PutEndpointResponseSchema,
  RemoveEndpointResponseSchema,
  SetDefaultVersionResponseSchema,
} from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import type { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import type { Session } from '../session.ts';

interface PutOptions {
  signalingUrl: string;
  soraVersion: string;
  limit: number;
  archiveUrl: string;
  secretFile?: string;
}

/** `sora endpoints put|list|remove`, `sora default-version`. */
export function addSora(program: Command, session: Session): void {
  const group = program.command('sora').description('Sora, which carries the video calls');
  const endpoints = group.command('endpoints').description('where channels are made');

  /** Of an empty file the service would take that the endpoint keeps its secret. */
  async function secretOf(file: string): Promise<string> {
    const secret = (await session.files.text(file, '--secret-file')).trim();
    if (secret === '') throw new CliError(exitCodes.usage, `The file of --secret-file, ${file}, is empty.`);
    return secret;
  }

  endpoints
    .command('put <endpointId>')
    .description('add an endpoint, change it, or bring a removed one back')
    .requiredOption('--signaling-url <url>', 'what integrators connect to: wss://…/signaling')
    .requiredOption('--sora-version <version>', "the endpoint's Sora version")
    .requiredOption('--limit <connections>', 'most connections at once', wholeNumber)
    .option('--archive-url <url>', 'where its recorded files are read; none: no recordings', '')
    .option(
      '--secret-file <path>',
      "file of its webhooks' bearer token, - for standard input; a new endpoint needs one",
    )
    .action(async (endpointId: string, options: PutOptions) => {
      const { signalingUrl, soraVersion, limit, archiveUrl, secretFile } = options;
      const endpoint = {
        ...{ endpointId, signalingUrl, soraVersion, connectionLimit: limit, archiveUrl },
        // A file, never a flag: those show in process lists.
        webhookSecret: secretFile === undefined ? '' : await secretOf(secretFile),
      };
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.putEndpoint({ endpoint }),
      );
      session.show(PutEndpointResponseSchema, answer, (put) => describe(put.endpoint));
    });

  endpoints
    .command('list')
    .description('the endpoints that take channels')
    .action(async () => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.listEndpoints({}),
      );
      session.show(ListEndpointsResponseSchema, answer, (list) =>
        table(
          list.endpoints,
          [
            ['ENDPOINT', (e) => e.endpointId],
            ['VERSION', (e) => e.soraVersion + (e.soraVersion === list.defaultVersion ? ' (default)' : '')],
            ['TAKEN', (e) => `${e.taken}/${e.connectionLimit}`],
            ['SIGNALING', (e) => e.signalingUrl],
            ['ARCHIVE', (e) => e.archiveUrl],
          ],
          'No endpoints. Add one: ctl sora endpoints put ENDPOINT --help',
        ),
      );
    });

  endpoints
    .command('remove <endpointId>')
    .description('give it no more channels; those that run continue')
    .action(async (endpointId: string) => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.removeEndpoint({ endpointId }),
      );
      session.show(RemoveEndpointResponseSchema, answer, () => fields([['removed', endpointId]]));
    });

  group
    .command('default-version <version>')
    .description('what a channel gets when its request names no version')
    .action(async (soraVersion: string) => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.setDefaultVersion({ soraVersion }),
      );
      session.show(SetDefaultVersionResponseSchema, answer, () => fields([['default version', soraVersion]]));
    });
}

function describe(endpoint: Endpoint | undefined): string {
  if (!endpoint) return '';
  return fields([
    ['endpoint', endpoint.endpointId],
    ['version', endpoint.soraVersion],
    ['signaling', endpoint.signalingUrl],
    ['archive', endpoint.archiveUrl],
    ['taken', `${endpoint.taken}/${endpoint.connectionLimit}`],
  ]);
}
