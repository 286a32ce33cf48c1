import { readFileSync } from 'node:fs';
import {
  AddHeadsetKeyResponseSchema,
  DevicesAdminService,
  RemoveHeadsetKeyResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Command } from 'commander';
import { CtlError, exitCodes } from '../exit-codes.ts';
import { generateHeadsetKey, removeKeyFile, writeKeyFile } from '../key-file.ts';
import { fields } from '../output.ts';
import type { Session } from '../session.ts';

/** `devices keys add|remove|generate`. */
export function addDeviceKeys(devices: Command, session: Session): void {
  const group = devices.command('keys').description('the keys that headsets sign in with (ES256)');

  const add = (deviceId: string, publicKeyPem: string) =>
    session.call('devices', DevicesAdminService, (c) => c.addHeadsetKey({ deviceId, publicKeyPem }));

  group
    .command('add <imei> <publicKeyFile>')
    .description("register a headset's public key (SPKI PEM, P-256)")
    .action(async (deviceId: string, path: string) => {
      const answer = await add(deviceId, readPem(path));
      session.show(AddHeadsetKeyResponseSchema, answer, ({ keyId }) => fields([['key', keyId]]));
    });

  group
    .command('remove <imei> <keyId>')
    .description('take a key out of use: the headset cannot sign in with it any more')
    .action(async (deviceId: string, keyId: string) => {
      const answer = await session.call('devices', DevicesAdminService, (c) =>
        c.removeHeadsetKey({ deviceId, keyId }),
      );
      session.show(RemoveHeadsetKeyResponseSchema, answer, () => fields([['removed', keyId]]));
    });

  group
    .command('generate <imei>')
    .description('make a key pair, register its public half and write the key file (mode 0600)')
    .option('--out <path>', 'the key file; IMEI.key.json when not given')
    .action(async (deviceId: string, { out }: { out?: string }) => {
      const path = out ?? `${deviceId}.key.json`;
      const { file, publicKeyPem } = generateHeadsetKey(deviceId);
      // The file is written first, because a registered key without a file would be useless.
      writeKeyFile(path, file);
      try {
        const answer = await add(deviceId, publicKeyPem);
        if (answer.keyId !== file.keyId) {
          throw new CtlError(
            exitCodes.refused,
            `The service named the key ${answer.keyId} instead of ${file.keyId}.`,
          );
        }
      } catch (error) {
        removeKeyFile(path);
        throw error;
      }
      const text = session.json
        ? `${JSON.stringify({ deviceId, keyId: file.keyId, keyFile: path }, null, 2)}\n`
        : fields([
            ['device', deviceId],
            ['key', file.keyId],
            ['key file', path],
          ]);
      session.terminal.out(text);
    });
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CtlError(exitCodes.usage, `The public key cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}
