import { fields } from '@headset-cloud/cli/output.ts';
import { limitOption } from '@headset-cloud/cli/paging.ts';
import {
  type ArtifactInfo,
  ArtifactKind,
  ArtifactState,
  ListArtifactsResponseSchema,
  UpdatesAdminService,
  WithdrawArtifactResponseSchema,
} from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { Argument, type Command, Option } from 'commander';
import { time, word } from '../output.ts';
import type { Session } from '../session.ts';

const kinds: Readonly<Record<string, ArtifactKind>> = {
  software: ArtifactKind.SOFTWARE,
  firmware: ArtifactKind.FIRMWARE,
};

/** `artifacts list|withdraw`. */
export function addArtifacts(program: Command, session: Session): void {
  const group = program
    .command('artifacts')
    .description('software and firmware, with the reasons for rejections');

  group
    .command('list')
    .description('by package, newest version first')
    .addOption(new Option('--kind <kind>', 'only this kind').choices(Object.keys(kinds)))
    .option('--package <package>', 'only of this package', '')
    .addOption(limitOption('versions'))
    .action(async (options: { kind?: string; package: string; limit: number }) => {
      const kind = kinds[options.kind ?? ''] ?? ArtifactKind.UNSPECIFIED;
      const answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.listArtifacts({ kind, package: options.package, limit: options.limit }),
      );
      session.showMessage(ListArtifactsResponseSchema, answer, ({ artifacts }) =>
        artifactTable(session, artifacts, 'No artifacts.'),
      );
    });

  group
    .command('withdraw')
    .addArgument(new Argument('<kind>').choices(Object.keys(kinds)))
    .arguments('<package> <version>')
    .description('devices no longer get this version; software cannot be uploaded again with this version')
    .action(async (kind: string, packageName: string, version: string) => {
      const answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.withdrawArtifact({ kind: kinds[kind] as ArtifactKind, package: packageName, version }),
      );
      session.showMessage(WithdrawArtifactResponseSchema, answer, ({ artifact }) => artifactFields(artifact));
    });
}

export function artifactTable({ table }: Session, artifacts: readonly ArtifactInfo[], none: string): string {
  return table(
    artifacts,
    [
      ['KIND', (a) => word(ArtifactKind, a.kind)],
      ['PACKAGE', (a) => a.package],
      ['VERSION', (a) => a.version],
      ['STATE', (a) => word(ArtifactState, a.state)],
      ['BYTES', (a) => String(a.sizeBytes)],
      ['DEVELOPER', (a) => a.developerId],
      ['UPDATED', (a) => time(a.updatedAtMs)],
      ['REASON', (a) => a.reason],
    ],
    none,
  );
}

export function artifactFields(artifact: ArtifactInfo | undefined): string {
  if (!artifact) return '';
  return fields([
    ['kind', word(ArtifactKind, artifact.kind)],
    ['package', artifact.package],
    ['version', artifact.version],
    ['state', word(ArtifactState, artifact.state)],
    ['bytes', String(artifact.sizeBytes)],
    ['sha256', artifact.sha256],
    ['developer', artifact.developerId],
    ['updated', time(artifact.updatedAtMs)],
    ['reason', artifact.reason],
  ]);
}
