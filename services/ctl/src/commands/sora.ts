import { usageError } from '@headset-cloud/cli/exit-codes.ts';
import { wholeNumber } from '@headset-cloud/cli/numbers.ts';
import { allowEmpty } from '@headset-cloud/cli/options.ts';
import { fields } from '@headset-cloud/cli/output.ts';
import {
  CommunicationAdminService,
  type Endpoint,
  ListEndpointsResponseSchema,
  PutEndpointResponseSchema,
  RemoveEndpointResponseSchema,
  SetDefaultVersionResponseSchema,
} from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { type Command, Option } from 'commander';
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
  const group = program.command('sora').description('Sora, the server for video calls');
  const endpoints = group.command('endpoints').description('endpoints for channels');

  /** Reads the secret. Throws for an empty file, because the service would keep the endpoint's old secret. */
  async function secretOf(file: string): Promise<string> {
    const secret = (await session.files.text(file, '--secret-file')).trim();
    if (secret === '') throw usageError(`The file of --secret-file, ${file}, is empty.`);
    return secret;
  }

  endpoints
    .command('put <endpointId>')
    .description('add, change or restore an endpoint')
    .requiredOption('--signaling-url <url>', 'address for integrators: wss://…/signaling')
    .requiredOption('--sora-version <version>', "the endpoint's Sora version")
    .requiredOption('--limit <connections>', 'maximum concurrent connections', wholeNumber())
    .addOption(
      allowEmpty(
        new Option('--archive-url <url>', 'address of its recorded files; default: no recordings').default(
          '',
        ),
      ),
    )
    .option(
      '--secret-file <path>',
      "file of its webhooks' bearer token, - for standard input; a new endpoint needs one",
    )
    .action(async (endpointId: string, options: PutOptions) => {
      const { signalingUrl, soraVersion, limit, archiveUrl, secretFile } = options;
      const endpoint = {
        ...{ endpointId, signalingUrl, soraVersion, connectionLimit: limit, archiveUrl },
        // A file instead of a flag, because process lists show flags.
        webhookSecret: secretFile === undefined ? '' : await secretOf(secretFile),
      };
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.putEndpoint({ endpoint }),
      );
      session.showMessage(PutEndpointResponseSchema, answer, (put) => describe(put.endpoint));
    });

  endpoints
    .command('list')
    .description('the endpoints that accept channels')
    .action(async () => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.listEndpoints({}),
      );
      session.showMessage(ListEndpointsResponseSchema, answer, (list) =>
        session.table(
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
    .description('stop new channels on the endpoint; existing channels continue')
    .action(async (endpointId: string) => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.removeEndpoint({ endpointId }),
      );
      session.showMessage(RemoveEndpointResponseSchema, answer, () => fields([['removed', endpointId]]));
    });

  group
    .command('default-version <version>')
    .description('version for channels whose request names no version')
    .action(async (soraVersion: string) => {
      const answer = await session.call('communication', CommunicationAdminService, (c) =>
        c.setDefaultVersion({ soraVersion }),
      );
      session.showMessage(SetDefaultVersionResponseSchema, answer, () =>
        fields([['default version', soraVersion]]),
      );
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
