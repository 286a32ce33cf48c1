import { listLimit } from '@headset-cloud/cli/options.ts';
import { fields, table } from '@headset-cloud/cli/output.ts';
import {
  type ArtifactInfo,
  ArtifactKind,
  ArtifactState,
  ListArtifactsResponseSchema,
  UpdatesAdminService,
  WithdrawArtifactResponseSchema,
} from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { type Command, Option } from 'commander';
import { time } from '../output.ts';
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
    .option('--limit <versions>', 'maximum to show, up to 1000', listLimit, 100)
    .action(async (options: { kind?: string; package: string; limit: number }) => {
      const kind = kinds[options.kind ?? ''] ?? ArtifactKind.UNSPECIFIED;
      const answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.listArtifacts({ kind, package: options.package, limit: options.limit }),
      );
      session.show(ListArtifactsResponseSchema, answer, ({ artifacts }) =>
        artifactTable(artifacts, 'No artifacts.'),
      );
    });

  group
    .command('withdraw <kind> <package> <version>')
    .description('devices no longer get this version; software cannot be uploaded again with this version')
    .action(async (kind: string, packageName: string, version: string, _options, command: Command) => {
      const wanted = kinds[kind];
      if (wanted === undefined) return command.error(`error: the kind is ${Object.keys(kinds).join(' or ')}`);
      const answer = await session.call('updates', UpdatesAdminService, (c) =>
        c.withdrawArtifact({ kind: wanted, package: packageName, version }),
      );
      session.show(WithdrawArtifactResponseSchema, answer, ({ artifact }) => artifactFields(artifact));
    });
}

export function artifactTable(artifacts: readonly ArtifactInfo[], none: string): string {
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

/** Lower-case name of an enum's value. */
function word(values: Readonly<Record<string, number>>, value: number): string {
  return (
    Object.entries(values)
      .find(([, v]) => v === value)?.[0]
      .toLowerCase() ?? ''
  );
}
