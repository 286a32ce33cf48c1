import { type Artifact, type ArtifactName, artifactId, openStates } from '../domain/artifact.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** The fields of an artifact that an update needs; stored with an Idempotency-Key. */
export interface Chosen {
  readonly id: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** The artifact of that name. Its uploads are checked first if it is not deliverable. */
export async function findArtifact(
  deps: HandlerDependencies,
  name: ArtifactName,
): Promise<Artifact | undefined> {
  const found = await deps.catalogue.get(artifactId(name));
  if (!found || !openStates.includes(found.state)) return found;
  await deps.checkNow({ artifactId: found.id });
  return deps.catalogue.get(found.id);
}

export function chosen({ id, objectKey, sizeBytes, sha256 }: Artifact): Chosen {
  return { id, objectKey, sizeBytes, sha256 };
}
