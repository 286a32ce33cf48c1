import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type Artifact, type ArtifactName, artifactId } from '../domain/artifact.ts';
import { requirePackage, requireVersion } from '../domain/names.ts';
import { refusals, withdrawnReason } from '../domain/refusals.ts';
import { developerOf, requireCaller } from './caller.ts';
import { findArtifact } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * POST …/apps/withdraw: withdraws a version with which no update was ever sent, so that its developer can upload it
 * again. Idempotent. Throws `not_found` for a version that the developer does not have. Throws `conflict` for a version
 * that an update was sent with or that an operator withdrew.
 */
export function withdrawAppHandler(
  deps: HandlerDependencies,
): Handlers<typeof UpdatesService>['withdrawApp'] {
  const { catalogue, clock, storage, logger } = deps;

  async function requireOwnVersion(name: ArtifactName, developerId: string): Promise<Artifact> {
    const found = await findArtifact(deps, name);
    const isKnown = found?.developerId === developerId && (found.sha256 !== '' || found.withdrawals > 0);
    if (!isKnown) throw refusals.notWithdrawable.unknown(name.package, name.version);
    return found;
  }

  return async ({ caller: given, package: packageName, version }) => {
    const caller = requireCaller(given);
    requirePackage(packageName);
    requireVersion(version);
    const name = { kind: 'software', package: packageName, version } as const;
    const id = artifactId(name);
    const developerId = await developerOf(deps, caller);
    await deps.idempotency.run(caller, {
      // Stores the number of withdrawals before this call. A repeat of the call thus does not withdraw a version that
      // was uploaded after the first call. If the version is withdrawn already, the call changes nothing.
      draw: async () => {
        const { state, reason, withdrawals } = await requireOwnVersion(name, developerId);
        return {
          withdrawals: state === 'rejected' && reason === withdrawnReason ? withdrawals - 1 : withdrawals,
        };
      },
      work: async ({ withdrawals }) => {
        const { clientId, applicationId } = caller;
        const subject = { applicationId, clientId, target: id, fields: ['state'] };
        const before = await deps.audit.change(subject, (record) =>
          catalogue.withdrawByDeveloper(id, { developerId, withdrawals }, clock.now(), record),
        );
        if (before) {
          // No ticket names this content, so the file is never read even if its removal fails.
          await storage
            .remove(before.objectKey)
            .catch((error) => logger.warn({ artifact: id, err: error }, 'a withdrawn file was not removed'));
          return true;
        }
        const now = await requireOwnVersion(name, developerId);
        if (now.withdrawals > withdrawals) return true;
        if (now.state === 'withdrawn') throw refusals.notWithdrawable.byOperator(packageName, version);
        if (now.state === 'deliverable') throw refusals.notWithdrawable.named(packageName, version);
        throw refusals.notWithdrawable.unknown(packageName, version);
      },
    });
    return { package: packageName, version };
  };
}
