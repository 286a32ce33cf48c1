import { statSync } from 'node:fs';
import { CliError, exitCodes, refusedError, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { wholeNumber } from '@headset-cloud/cli/numbers.ts';
import { visible } from '@headset-cloud/cli/output.ts';
import { limitOption } from '@headset-cloud/cli/paging.ts';
import { standard } from '@headset-cloud/cli/standard-streams.ts';
import {
  type ArtifactInfo,
  ArtifactKind,
  ArtifactState,
  ListArtifactsResponseSchema,
  PutFirmwareResponseSchema,
  UpdatesAdminService,
  WithdrawArtifactResponseSchema,
} from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { type Command, InvalidArgumentError } from 'commander';
import type { Session } from '../session.ts';
import { upload } from '../upload.ts';
import { artifactFields, artifactTable } from './artifacts.ts';

const pollIntervalMs = 250;

interface PutOptions {
  readonly size?: number;
  readonly sha256?: string;
  readonly uploadTimeoutMs: number;
}

/** `firmware put|list|withdraw`. */
export function addFirmware(program: Command, session: Session): void {
  const group = program.command('firmware').description('firmware for updates of devices');

  group
    .command('put <package> <version> <file>')
    .description(
      'upload a firmware; the file may be - for standard input; an existing version is never overwritten',
    )
    .option('--size <bytes>', "the file's length; standard input needs it", bytes)
    .option('--sha256 <hex>', 'expected SHA-256: nothing is stored if it differs', sha256)
    .option(
      '--upload-timeout-ms <ms>',
      'how long the upload may stall or wait for its answer',
      wholeNumber(),
      60_000,
    )
    .action(async (packageName: string, version: string, file: string, options: PutOptions) => {
      const sizeBytes = options.size ?? sizeOf(file);
      let answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.putFirmware({ package: packageName, version, sizeBytes: BigInt(sizeBytes) }),
      );
      if (answer.uploadUrl) {
        await upload(answer.uploadUrl, session.files.content(file, 'The firmware'), {
          contentType: 'application/octet-stream',
          what: 'The firmware',
          expected: { sizeBytes, sha256: options.sha256 },
          timeoutMs: options.uploadTimeoutMs,
        });
        const artifact = await waitForCheck(session, packageName, version, options.uploadTimeoutMs);
        answer = { ...answer, uploadUrl: '', artifact };
      }
      requireSame(answer.artifact, options.sha256);
      session.showMessage(PutFirmwareResponseSchema, answer, ({ artifact }) => artifactFields(artifact));
    });

  group
    .command('list')
    .description('firmware, by package, newest version first')
    .option('--package <package>', 'only of this package', '')
    .addOption(limitOption('versions'))
    .action(async (options: { package: string; limit: number }) => {
      const answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.listArtifacts({ kind: ArtifactKind.FIRMWARE, package: options.package, limit: options.limit }),
      );
      session.showMessage(ListArtifactsResponseSchema, answer, ({ artifacts }) =>
        artifactTable(
          session,
          artifacts,
          'No firmware. Put one: ctl firmware put com.vendor.firmware 1.0.0 FILE',
        ),
      );
    });

  group
    .command('withdraw <package> <version>')
    .description('devices no longer get this version; it can be put again')
    .action(async (packageName: string, version: string) => {
      const answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.withdrawArtifact({ kind: ArtifactKind.FIRMWARE, package: packageName, version }),
      );
      session.showMessage(WithdrawArtifactResponseSchema, answer, ({ artifact }) => artifactFields(artifact));
    });
}

/** Waits for the check of the upload, which is asynchronous. Returns the artifact. */
async function waitForCheck(
  session: Session,
  packageName: string,
  version: string,
  timeoutMs: number,
): Promise<ArtifactInfo> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { artifacts } = await session.call('updates', UpdatesAdminService, (c) =>
      c.listArtifacts({ kind: ArtifactKind.FIRMWARE, package: packageName, limit: 1000 }),
    );
    const artifact = artifacts.find((a) => a.version === version);
    if (artifact?.state === ArtifactState.REJECTED) {
      throw refusedError(`The firmware was rejected: ${visible(artifact.reason)}`);
    }
    if (artifact && artifact.state !== ArtifactState.UPLOADING) return artifact;
    if (Date.now() > deadline) {
      throw new CliError(
        exitCodes.unreachable,
        'The file was uploaded, but its check is not finished. Show the result with: ctl firmware list',
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pollIntervalMs));
  }
}

/** Throws if the version exists with different content: the given file was not stored. */
function requireSame(artifact: ArtifactInfo | undefined, wanted: string | undefined): void {
  if (!artifact || wanted === undefined || artifact.sha256 === wanted) return;
  throw refusedError(
    `The version ${visible(artifact.version)} exists with different content (SHA-256 ${artifact.sha256}). It is not overwritten: choose another version.`,
  );
}

/** Parses a length for commander. Tools such as wc print spaces before the number. */
function bytes(text: string): number {
  return wholeNumber(0, 999_999_999_999_999)(text.trim());
}

/** Parses a SHA-256 for commander. */
function sha256(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('It is not 64 hexadecimal digits.');
  return text.toLowerCase();
}

function sizeOf(file: string): number {
  if (file === standard) {
    throw usageError('The length of standard input is unknown: give --size, such as --size $(wc -c < FILE).');
  }
  try {
    return statSync(file).size;
  } catch (cause) {
    throw usageError(`The file cannot be read: ${(cause as Error).message}`, { cause });
  }
}
