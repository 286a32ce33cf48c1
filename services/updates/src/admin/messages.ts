import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type ArtifactInfoSchema,
  ArtifactKind,
  ArtifactState,
} from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Artifact, ArtifactKind as DomainKind } from '../domain/artifact.ts';

const states = {
  uploading: ArtifactState.UPLOADING,
  deliverable: ArtifactState.DELIVERABLE,
  rejected: ArtifactState.REJECTED,
  withdrawn: ArtifactState.WITHDRAWN,
} as const;

/** An artifact for operators. */
export function artifactInfo(artifact: Artifact): MessageInitShape<typeof ArtifactInfoSchema> {
  const { package: packageName, version, reason, sha256, developerId } = artifact;
  return {
    ...{ package: packageName, version, reason, sha256, developerId },
    kind: artifact.kind === 'software' ? ArtifactKind.SOFTWARE : ArtifactKind.FIRMWARE,
    state: states[artifact.state],
    sizeBytes: BigInt(artifact.sizeBytes),
    updatedAtMs: BigInt(artifact.updatedAtMs),
  };
}

/** Undefined: every kind. */
export function kindOf(kind: ArtifactKind): DomainKind | undefined {
  if (kind === ArtifactKind.UNSPECIFIED) return undefined;
  if (kind === ArtifactKind.SOFTWARE) return 'software';
  if (kind === ArtifactKind.FIRMWARE) return 'firmware';
  throw new DomainError('invalid_argument', 'kind is not one of software and firmware.');
}
