import { create } from '@bufbuild/protobuf';
import { CliError, exceptOutputClosed, refusedError, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { imei } from '@headset-cloud/cli/ids.ts';
import { type Column, fields } from '@headset-cloud/cli/output.ts';
import { standard } from '@headset-cloud/cli/standard-streams.ts';
import {
  AddHeadsetKeyResponseSchema,
  DevicesAdminService,
  type HeadsetKey,
  HeadsetKeySchema,
  type HeadsetKeysOfDevice,
  ListHeadsetKeysResponseSchema,
  type RemoveAllHeadsetKeysRequest,
  RemoveAllHeadsetKeysResponseSchema,
  RemoveHeadsetKeyResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { generateHeadsetKey, type HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import type { Command } from 'commander';
import { UnknownOutcome } from '../connection.ts';
import { keyFileText, removeKeyFile, writeKeyFile } from '../key-file.ts';
import { time } from '../output.ts';
import type { Session } from '../session.ts';

/** `headset-keys list|add|generate|revoke|revoke-all`; `devices keys add|generate|remove` are the same commands. */
export function addHeadsetKeys(program: Command, session: Session): void {
  const group = program
    .command('headset-keys')
    .description('the keys that headsets sign in with (ES256), at most two per device');
  addKeyCommands(group, session, 'revoke');

  group
    .command('list [imei]')
    .description(
      'the keys of a device, or of all devices that an application or a developer has activated now: names, registration, last use (updated hourly during a session)',
    )
    .option('--device <imei>', 'the same as the IMEI alone', imei)
    .option('--application <applicationId>', 'of the devices that this application has activated')
    .option('--developer <developerId>', "the same, for all of the developer's applications")
    .action(async (given: string | undefined, options: Scope) => {
      const [one, ...more] = [given, options.device].filter((id) => id !== undefined);
      if (more.length > 0) throw usageError('Give the IMEI once.');
      const listed = create(ListHeadsetKeysResponseSchema);
      const scopes = await scopesOf({ ...options, ...(one !== undefined && { device: one }) }, session);
      for (const { case: kind, value = '' } of scopes) {
        const filter = kind === 'deviceId' ? { deviceId: value } : { applicationId: value };
        for (let afterDeviceId = ''; ; ) {
          const page = await session.call('devices', DevicesAdminService, (c) =>
            c.listHeadsetKeys({ ...filter, afterDeviceId }),
          );
          listed.keys.push(...page.keys);
          listed.devices.push(...page.devices);
          afterDeviceId = page.nextAfterDeviceId;
          if (afterDeviceId === '') break;
        }
      }
      session.showMessage(ListHeadsetKeysResponseSchema, listed, ({ keys, devices }) =>
        one === undefined ? deviceTable(session, devices) : keyTable(session, one, keys),
      );
    });

  group
    .command('revoke-all')
    .description(
      'revoke all keys of a device, or of all devices that an application or a developer has activated now; they cannot connect again before they get new keys',
    )
    .option('--device <imei>', 'keys of this device', imei)
    .option('--application <applicationId>', 'of the devices that this application has activated')
    .option('--developer <developerId>', "the same, for all of the developer's applications")
    .option('--dry-run', 'only show what would be revoked')
    .action(async (options: Scope & { dryRun?: boolean }) => {
      const revoked = create(RemoveAllHeadsetKeysResponseSchema);
      for (const scope of await scopesOf(options, session)) {
        for (let afterDeviceId = ''; ; ) {
          const page = await session.call('devices', DevicesAdminService, (c) =>
            c.removeAllHeadsetKeys({ of: scope, afterDeviceId, dryRun: options.dryRun === true }),
          );
          revoked.devices.push(...page.devices);
          afterDeviceId = page.nextAfterDeviceId;
          if (afterDeviceId === '') break;
        }
      }
      const done = options.dryRun ? 'would be revoked' : 'revoked';
      session.showMessage(RemoveAllHeadsetKeysResponseSchema, revoked, ({ devices }) => {
        const keys = devices.flatMap(({ deviceId, keyIds }) => keyIds.map((keyId) => ({ deviceId, keyId })));
        const shown = session.table(
          keys,
          [
            ['DEVICE', (k) => k.deviceId],
            ['KEY', (k) => k.keyId],
          ],
          'There are no keys.',
        );
        return keys.length > 0 ? `${shown}${keys.length} of ${devices.length} devices ${done}.\n` : shown;
      });
    });
}

/** `add`, `generate` and the removal of one key. */
export function addKeyCommands(group: Command, session: Session, removal: 'remove' | 'revoke'): void {
  const add = (deviceId: string, publicKeyPem: string, name = '') =>
    session.call('devices', DevicesAdminService, (c) => c.addHeadsetKey({ deviceId, publicKeyPem, name }));

  group
    .command('add <imei> <publicKeyFile>')
    .description("register a headset's public key (SPKI PEM, P-256); the file may be - for standard input")
    .option('--name <name>', 'name shown in the list')
    .action(async (deviceId: string, path: string, { name }: { name?: string }) => {
      const answer = await add(deviceId, await session.files.text(path, 'The public key'), name);
      session.showMessage(AddHeadsetKeyResponseSchema, answer, ({ keyId }) => fields([['key', keyId]]));
    });

  group
    .command(`${removal} <imei> <keyId>`)
    .description(
      'revoke a key: its session ends within seconds, and the headset can no longer sign in with it',
    )
    .action(async (deviceId: string, keyId: string) => {
      const answer = await session.call('devices', DevicesAdminService, (c) =>
        c.removeHeadsetKey({ deviceId, keyId }),
      );
      session.showMessage(RemoveHeadsetKeyResponseSchema, answer, () => fields([[`${removal}d`, keyId]]));
    });

  group
    .command('generate <imei>')
    .description('generate a key pair, register the public key and write the key file (mode 0600)')
    .option('--name <name>', 'name shown in the list')
    .option('--out <path>', 'key file; -: standard output; default: IMEI.key.json')
    .action(async (deviceId: string, { out, name }: { out?: string; name?: string }) => {
      const path = out ?? `${deviceId}.key.json`;
      const toOutput = path === standard;
      const { terminal } = session;
      const { file, publicKeyPem } = generateHeadsetKey(deviceId);
      // The file is written first, because a registered key without its file is useless.
      if (toOutput) {
        terminal.out(keyFileText(file));
        await terminal.flushed?.().catch((error: unknown) => {
          exceptOutputClosed(error);
          throw refusedError(
            'Standard output was closed before the key was written to it. The key is not registered.',
            { cause: error },
          );
        });
      } else {
        writeKeyFile(path, file);
      }
      const answer = await add(deviceId, publicKeyPem, name).catch((error: unknown) => {
        if (error instanceof UnknownOutcome) throw mayBeRegistered(error, file, toOutput ? undefined : path);
        // Any other error than CliError does not show whether the key is registered.
        if (error instanceof CliError) {
          if (toOutput) terminal.err('The key that was written is not registered. Delete it.\n');
          else removeKeyFile(path);
        }
        throw error;
      });
      const { keyId } = file;
      if (answer.keyId !== keyId) {
        throw refusedError(
          `The key is registered, but the service names it ${answer.keyId} instead of ${keyId}. ${toOutput ? 'Keep the key that was written' : `The key file ${path} is kept`}.\n` +
            `Check that ctl and the service have the same version. To generate another key, revoke this one first: ctl headset-keys revoke ${deviceId} ${answer.keyId}`,
        );
      }
      const text = () =>
        fields([
          ['device', deviceId],
          ['key', keyId],
          ['key file', path],
        ]);
      session.show({ deviceId, keyId, keyFile: path }, text, toOutput ? terminal.err : terminal.out);
    });
}

/**
 * Reports an unknown outcome. The private key is kept until the outcome is known, because the registered public key is
 * useless without it.
 */
function mayBeRegistered(
  { exitCode, failure }: UnknownOutcome,
  { deviceId, keyId }: HeadsetKeyFile,
  path: string | undefined,
): CliError {
  const key = path === undefined ? 'the key that was written' : path;
  return new CliError(
    exitCode,
    `${failure}\nThe key ${keyId} may be registered. Keep ${key}, and check: ctl headset-keys list ${deviceId}\n` +
      `If the list does not have the key, remove ${key}, and generate another one.`,
  );
}

interface Scope {
  readonly device?: string;
  readonly application?: string;
  readonly developer?: string;
}

/** Returns the scopes of the keys. Exactly one of the three options must be given. */
async function scopesOf(
  { device, application, developer }: Scope,
  session: Session,
): Promise<RemoveAllHeadsetKeysRequest['of'][]> {
  const given = [device, application, developer].filter((one) => one !== undefined);
  // An empty developer would mean all applications.
  if (given.length !== 1 || given[0] === '') {
    throw usageError('Give one of --device, --application and --developer.');
  }
  if (device !== undefined) return [{ case: 'deviceId', value: device }];
  if (application !== undefined) return [{ case: 'applicationId', value: application }];
  const { applications } = await session.call('devices', DevicesAdminService, (c) =>
    c.listApplications({ developerId: developer ?? '' }),
  );
  if (applications.length === 0) {
    throw refusedError(`The developer ${developer} has no applications.`);
  }
  return applications.map(({ applicationId }) => ({ case: 'applicationId', value: applicationId }));
}

const keyColumns: readonly Column<HeadsetKey>[] = [
  ['KEY', (k) => k.keyId],
  ['NAME', (k) => k.name],
  ['REGISTERED', (k) => time(k.createdAtMs)],
  ['LAST USED', (k) => time(k.lastUsedAtMs)],
];

function keyTable({ table }: Session, deviceId: string, keys: readonly HeadsetKey[]): string {
  return table(keys, keyColumns, `No keys. Generate one: ctl headset-keys generate ${deviceId}`);
}

/** One line for each key, and one for each device without a key. */
function deviceTable({ table }: Session, devices: readonly HeadsetKeysOfDevice[]): string {
  const rows = devices.flatMap(({ deviceId, keys }) =>
    (keys.length === 0 ? [create(HeadsetKeySchema)] : keys).map((key) => ({ deviceId, key })),
  );
  return table(
    rows,
    [
      ['DEVICE', (row) => row.deviceId],
      ...keyColumns.map(([head, text]): Column<(typeof rows)[number]> => [head, (row) => text(row.key)]),
    ],
    'No device is activated.',
  );
}
