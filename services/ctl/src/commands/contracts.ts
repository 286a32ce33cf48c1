import { create } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError } from '@connectrpc/connect';
import { type CliError, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { wholeNumber } from '@headset-cloud/cli/numbers.ts';
import { fields } from '@headset-cloud/cli/output.ts';
import {
  type Contract,
  ContractSchema,
  DevicesAdminService,
  GetContractResponseSchema,
  PutContractResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { Session } from '../session.ts';

interface PutOptions {
  /** Absent: the contract's limit does not change. */
  limit?: number;
  add: string[];
  addFile?: string;
  remove: string[];
  callsPerSecond?: number;
  callsBurst?: number;
  callsUnderWay?: number;
  deviceChangesPerSecond?: number;
  deviceUnprocessed?: number;
  applicationUnprocessed?: number;
  defaultLimits: boolean;
  dryRun: boolean;
}

/** Limits of a contract by the names of their options. */
const limitOptions = [
  'callsPerSecond',
  'callsBurst',
  'callsUnderWay',
  'deviceChangesPerSecond',
  'deviceUnprocessed',
  'applicationUnprocessed',
] as const;

/** Parses a limit for commander. A limit of zero would reject every call. */
const quota = wholeNumber(1, 99_999_999);

/** Maximum number of IMEIs in one call or answer. A contract may contain hundreds of thousands. */
const pageSize = 1000;

/** `contracts put|show`. */
export function addContracts(program: Command, session: Session): void {
  const group = program.command('contracts').description('which devices an application may activate');

  group
    .command('put <applicationId>')
    .description(
      "create an application's contract (with --limit), or change what the options name; the rest of it stays",
    )
    .option(
      '--limit <devices>',
      'maximum devices activated at once; required for a new contract',
      wholeNumber(),
    )
    .option('--add <imei...>', 'IMEIs to add', [])
    .option('--add-file <path>', 'file of IMEIs to add, one per line; -: standard input')
    .option('--remove <imei...>', 'IMEIs to remove; an activated device stays activated', [])
    .option('--calls-per-second <n>', 'API calls that each client may make per second', quota)
    .option(
      '--calls-burst <n>',
      'calls that may arrive at once after a pause (default: twice the rate)',
      quota,
    )
    .option('--calls-under-way <n>', 'concurrent calls of each client', quota)
    .option(
      '--device-changes-per-second <n>',
      'changing calls of each client for one device per second',
      quota,
    )
    .option('--device-unprocessed <n>', 'unprocessed transactions of one device', quota)
    .option('--application-unprocessed <n>', 'unprocessed transactions of the application', quota)
    .option('--default-limits', "remove the contract's limits; the platform's defaults apply again", false)
    .option('--dry-run', 'only show what would change', false)
    .action(async (applicationId: string, options: PutOptions) => {
      const listed = options.addFile ? await session.files.text(options.addFile, '--add-file') : '';
      const add = [...options.add, ...listed.split(/\s+/).filter(Boolean)];
      requireChange({ ...options, add });
      if (options.dryRun) {
        const before = await session.call('devices', DevicesAdminService, (client) =>
          contractOf(client, applicationId),
        );
        const { contract, text } = contractAfter(before, applicationId, { ...options, add });
        session.showMessage(
          PutContractResponseSchema,
          create(PutContractResponseSchema, { contract }),
          () => text,
        );
        return;
      }
      const answer = await session.call('devices', DevicesAdminService, async (client) => {
        // An earlier version of devices ignores keepActivationLimit and stores the limit of each call.
        const activationLimit = options.limit ?? (await limitOf(client, applicationId));
        const keeps = { applicationId, activationLimit, keepActivationLimit: true };
        let last = await client.putContract({
          ...keeps,
          keepActivationLimit: options.limit === undefined,
          addDeviceIds: add.slice(0, pageSize),
          removeDeviceIds: options.remove,
          limits: limitsOf(options),
          defaultLimits: options.defaultLimits,
        });
        for (let i = pageSize; i < add.length; i += pageSize) {
          last = await client.putContract({ ...keeps, addDeviceIds: add.slice(i, i + pageSize) });
        }
        return withAllDevices(client, last);
      });
      session.showMessage(PutContractResponseSchema, answer, ({ contract }) => describe(contract));
    });

  group
    .command('show <applicationId>')
    .description("an application's contract")
    .action(async (applicationId: string) => {
      const answer = await session.call('devices', DevicesAdminService, async (client) =>
        withAllDevices(client, await client.getContract({ applicationId })),
      );
      session.showMessage(GetContractResponseSchema, answer, ({ contract }) => describe(contract));
    });
}

/** Throws for a command line without a change. */
function requireChange({ limit, add, remove, defaultLimits, ...options }: PutOptions): void {
  const isChange = limit !== undefined || add.length > 0 || remove.length > 0 || defaultLimits;
  if (isChange || Object.keys(limitsOf({ ...options, add, remove, defaultLimits })).length > 0) return;
  throw usageError(
    'Nothing to change: give --limit, --add, --add-file, --remove or one of the limits (contracts put --help).',
  );
}

function missingLimit(applicationId: string): CliError {
  return usageError(
    `The application ${applicationId} has no contract yet: the first one needs a limit, for example ctl contracts put ${applicationId} --limit 10`,
  );
}

/** The activation limit of the application's contract. */
async function limitOf(client: Client<typeof DevicesAdminService>, applicationId: string): Promise<number> {
  try {
    return (await client.getContract({ applicationId })).contract?.activationLimit ?? 0;
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) throw missingLimit(applicationId);
    throw error;
  }
}

/** The limits in the options. */
function limitsOf(options: PutOptions): LimitValues {
  return Object.fromEntries(
    limitOptions.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
}

type LimitValues = Partial<Record<(typeof limitOptions)[number], number>>;

/** Texts of the limits that a contract sets. */
function limitTexts(limits: LimitValues | undefined): readonly string[] {
  const own = limitOptions.filter((name) => limits?.[name] !== undefined);
  return own.length === 0 ? ['defaults'] : own.map((name) => `${name} ${limits?.[name]}`);
}

/** The application's complete contract; undefined if it has none. */
async function contractOf(
  client: Client<typeof DevicesAdminService>,
  applicationId: string,
): Promise<Contract | undefined> {
  try {
    return (await withAllDevices(client, await client.getContract({ applicationId }))).contract;
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return undefined;
    throw error;
  }
}

/** The contract after a change, for a dry run. Does not include the service's checks of IMEIs. */
function contractAfter(
  before: Contract | undefined,
  applicationId: string,
  options: PutOptions,
): { contract: Contract; text: string } {
  const { add, remove, defaultLimits } = options;
  const limit = options.limit ?? before?.activationLimit;
  if (limit === undefined) throw missingLimit(applicationId);
  const limits = { ...(defaultLimits ? {} : before?.limits), ...limitsOf(options) };
  const named = new Set(before?.deviceIds);
  const added = [...new Set(add)].filter((deviceId) => !named.has(deviceId));
  const removed = [...new Set(remove)].filter((deviceId) => named.has(deviceId));
  const deviceIds = [...named, ...added].filter((deviceId) => !remove.includes(deviceId)).sort();
  const { activated = 0, activationLimit } = before ?? {};
  const text = fields([
    ['application', applicationId],
    ['limit', before ? `${activationLimit} → ${limit}` : `${limit} (there is no contract yet)`],
    ['activated', String(activated)],
    ['devices', `${named.size} → ${deviceIds.length}`],
    ['add', added.length === 0 ? 'none' : added],
    ['remove', removed.length === 0 ? 'none' : removed],
    ['limits', limitTexts(limits)],
  ]);
  return {
    contract: create(ContractSchema, { applicationId, activationLimit: limit, activated, deviceIds, limits }),
    text: `${text}Nothing was changed: this is a dry run.\n`,
  };
}

/** Adds the IMEIs after the first page of the answer, page by page. */
async function withAllDevices<A extends { contract?: Contract }>(
  client: Client<typeof DevicesAdminService>,
  answer: A,
): Promise<A> {
  const { applicationId = '', deviceIds = [] } = answer.contract ?? {};
  for (let page = deviceIds; page.length >= pageSize; ) {
    const afterDeviceId = deviceIds.at(-1) ?? '';
    page = (await client.listContractDevices({ applicationId, afterDeviceId, limit: pageSize })).deviceIds;
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
    ['limits', limitTexts(contract.limits)],
    ['devices', contract.deviceIds],
  ]);
}
