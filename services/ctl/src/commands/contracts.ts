import { readFileSync } from 'node:fs';
import type { Client } from '@connectrpc/connect';
import {
  type Contract,
  DevicesAdminService,
  GetContractResponseSchema,
  PutContractResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import { CtlError, exitCodes } from '../exit-codes.ts';
import { fields } from '../output.ts';
import { type Session, wholeNumber } from '../session.ts';

interface PutOptions {
  limit: number;
  add: string[];
  addFile?: string;
  remove: string[];
}

/** IMEIs in one call or answer; contracts may name hundreds of thousands. */
const atOnce = 1000;

/** `contracts put|show`. */
export function addContracts(program: Command, session: Session): void {
  const group = program.command('contracts').description('which devices an application may activate');

  group
    .command('put <applicationId>')
    .description("create an application's contract or change it; IMEIs are added to those it names")
    .requiredOption('--limit <devices>', 'most devices activated at once', wholeNumber)
    .option('--add <imei...>', 'IMEIs to add', [])
    .option('--add-file <path>', 'file of IMEIs to add, one a line')
    .option('--remove <imei...>', 'IMEIs to remove; a device that is activated stays so', [])
    .action(async (applicationId: string, options: PutOptions) => {
      const add = [...options.add, ...(options.addFile ? readDeviceIds(options.addFile) : [])];
      const answer = await session.call('devices', DevicesAdminService, async (client) => {
        const put = (addDeviceIds: string[], removeDeviceIds: string[]) =>
          client.putContract({
            applicationId,
            activationLimit: options.limit,
            addDeviceIds,
            removeDeviceIds,
          });
        let last = await put(add.slice(0, atOnce), options.remove);
        for (let i = atOnce; i < add.length; i += atOnce) last = await put(add.slice(i, i + atOnce), []);
        return withAllDevices(client, last);
      });
      session.show(PutContractResponseSchema, answer, ({ contract }) => describe(contract));
    });

  group
    .command('show <applicationId>')
    .description("an application's contract")
    .action(async (applicationId: string) => {
      const answer = await session.call('devices', DevicesAdminService, async (client) =>
        withAllDevices(client, await client.getContract({ applicationId })),
      );
      session.show(GetContractResponseSchema, answer, ({ contract }) => describe(contract));
    });
}

/** Adds the IMEIs after the first page of the answer, page by page. */
async function withAllDevices<A extends { contract?: Contract }>(
  client: Client<typeof DevicesAdminService>,
  answer: A,
): Promise<A> {
  const { applicationId = '', deviceIds = [] } = answer.contract ?? {};
  for (let page = deviceIds; page.length >= atOnce; ) {
    const afterDeviceId = deviceIds.at(-1) ?? '';
    page = (await client.listContractDevices({ applicationId, afterDeviceId, limit: atOnce })).deviceIds;
    deviceIds.push(...page);
  }
  return answer;
}

function describe(contract: Contract | undefined): string {
  if (!contract) return '';
  return fields([
    ['application', contract.applicationId],
    ['limit', String(contract.activationLimit)],
    ['activated', String(contract.activated)],
    ['devices', contract.deviceIds.join('\n         ')],
  ]);
}

function readDeviceIds(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split(/\s+/).filter(Boolean);
  } catch (cause) {
    throw new CtlError(exitCodes.usage, `--add-file cannot be read: ${(cause as Error).message}`, { cause });
  }
}
