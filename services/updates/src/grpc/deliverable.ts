import { type Artifact, type ArtifactName, artifactId, openStates } from '../domain/artifact.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** The fields of an artifact that an update needs. They are stored with the call's Idempotency-Key. */
export interface UpdateContent {
  readonly id: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Returns the artifact with this name. First checks its uploads if one of them may make it deliverable. */
export async function findArtifact(
  deps: HandlerDependencies,
  name: ArtifactName,
): Promise<Artifact | undefined> {
  const found = await deps.catalogue.get(artifactId(name));
  if (!found || !openStates.includes(found.state)) return found;
  await deps.checkNow({ artifactId: found.id });
  return deps.catalogue.get(found.id);
}

export function updateContentOf({ id, objectKey, sizeBytes, sha256 }: Artifact): UpdateContent {
  return { id, objectKey, sizeBytes, sha256 };
}
