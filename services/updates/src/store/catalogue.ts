import { pendingAuditFields, withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { type Artifact, type ArtifactState, artifactId, openStates } from '../domain/artifact.ts';
import { withdrawnReason } from '../domain/refusals.ts';
import { versionKey } from '../domain/version-key.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { ArtifactDocument } from './documents.ts';

const nameProjection = { package: 1, version: 1 } as const;

export function createCatalogue(artifacts: StoreCollection<ArtifactDocument>): Catalogue {
  async function get(id: string): Promise<Artifact | undefined> {
    const found = await artifacts.findOne({ _id: id });
    return found ? artifactOf(found) : undefined;
  }

  const whileOpen = (id: string) => ({ _id: id, state: { $in: [...openStates] } });

  return {
    get,

    async open({ name, developerId, sizeBytes, uploadId }, nowMs, reopenWithdrawn, record) {
      const id = artifactId(name);
      const states: ArtifactState[] = reopenWithdrawn ? [...openStates, 'withdrawn'] : [...openStates];
      const opened = { state: 'uploading', sizeBytes, uploadId, updatedAtMs: nowMs } as const;
      for (;;) {
        // Removes the content of a withdrawn version, which does not belong to the new upload.
        const withoutContent = { ...opened, sha256: '', objectKey: '' };
        const reopen = (of: Filter<ArtifactDocument>, more: Partial<ArtifactDocument> = {}) => {
          const update: Update<ArtifactDocument> = { $set: { ...withoutContent, ...more } };
          return artifacts.findOneAndUpdate(
            { _id: id, state: { $in: states }, ...of },
            record ? withAuditRecord(update, record) : update,
            { returnDocument: 'after' },
          );
        };
        // Another developer's claim on the package has expired. The stored reason concerns that developer's file.
        const reopened =
          (await reopen({ developerId })) ??
          (await reopen({ developerId: { $ne: developerId } }, { developerId, reason: '' }));
        if (reopened) return artifactOf(reopened);
        const existing = await get(id);
        if (existing) {
          if (states.includes(existing.state)) continue;
          return existing;
        }
        const created: ArtifactDocument = {
          _id: id,
          kind: name.kind,
          package: name.package,
          version: name.version,
          versionKey: versionKey(name.version),
          developerId,
          reason: '',
          sha256: '',
          objectKey: '',
          named: false,
          ...opened,
          ...(record && pendingAuditFields(record)),
        };
        try {
          await artifacts.insertOne(created);
          return artifactOf(created);
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }
    },

    async deliver(id, withdrawals, content, nowMs) {
      const delivered = await artifacts.updateOne(
        { ...whileOpen(id), ...hasWithdrawals(withdrawals) },
        {
          $set: { state: 'deliverable', reason: '', ...content, updatedAtMs: nowMs },
        },
      );
      return delivered.matchedCount === 1;
    },

    async reject(id, uploadId, reason, nowMs) {
      await artifacts.updateOne(
        { ...whileOpen(id), uploadId },
        { $set: { state: 'rejected', reason, updatedAtMs: nowMs } },
      );
    },

    async expire(id, uploadId, reason, nowMs) {
      await artifacts.updateOne(
        { _id: id, state: 'uploading', uploadId },
        { $set: { state: 'rejected', reason, updatedAtMs: nowMs } },
      );
    },

    async markSent(id, objectKey) {
      const marked = await artifacts.updateOne(
        { _id: id, state: 'deliverable', objectKey },
        { $set: { named: true } },
      );
      return marked.matchedCount === 1;
    },

    async withdrawByDeveloper(id, { developerId, withdrawals }, nowMs, record) {
      const changed = { state: 'rejected', reason: withdrawnReason, sha256: '', objectKey: '' } as const;
      const before = await artifacts.findOneAndUpdate(
        { _id: id, state: 'deliverable', named: false, developerId, ...hasWithdrawals(withdrawals) },
        withAuditRecord<ArtifactDocument>(
          { $set: { ...changed, updatedAtMs: nowMs }, $inc: { withdrawals: 1 } },
          record,
        ),
        { returnDocument: 'before' },
      );
      return before ? artifactOf(before) : undefined;
    },

    async withdraw(id, nowMs, record) {
      const withdrawn = await artifacts.findOneAndUpdate(
        { _id: id, state: { $ne: 'withdrawn' } },
        withAuditRecord<ArtifactDocument>({ $set: { state: 'withdrawn', updatedAtMs: nowMs } }, record),
        { returnDocument: 'after' },
      );
      return withdrawn ? artifactOf(withdrawn) : get(id);
    },

    async listDeliverable({ developerId, package: name, latest, offset, limit }) {
      const filter: Filter<ArtifactDocument> = {
        kind: 'software',
        state: 'deliverable',
        developerId,
        ...(name && { package: name }),
      };
      const sort = { package: 1, versionKey: -1, version: -1 } as const;
      if (!latest) {
        const [found, total] = await Promise.all([
          artifacts.find(filter, { sort, skip: offset, limit, projection: nameProjection }).toArray(),
          artifacts.countDocuments(filter),
        ]);
        return { items: found.map(nameOf), total };
      }
      // In the order of the index, the first version of a package is its latest. The versions are read as a stream.
      const items: { package: string; version: string }[] = [];
      let total = 0;
      let last: string | undefined;
      for await (const found of artifacts.find(filter, { sort, projection: nameProjection })) {
        if (found.package === last) continue;
        last = found.package;
        total += 1;
        if (total > offset && items.length < limit) items.push(nameOf(found));
      }
      return { items, total };
    },

    async listFirmware() {
      const found = await artifacts
        .find(
          { kind: 'firmware', state: 'deliverable', developerId: '' },
          { sort: { package: 1, versionKey: -1, version: -1 }, projection: nameProjection },
        )
        .toArray();
      return found.map(nameOf);
    },

    async list({ kind, package: name, limit }) {
      const found = await artifacts
        .find(
          { ...(kind && { kind }), ...(name && { package: name }) },
          { sort: { package: 1, versionKey: -1 }, limit },
        )
        .toArray();
      return found.map(artifactOf);
    },
  };
}

/** Filter by the number of withdrawals. The field is absent before the first withdrawal. */
function hasWithdrawals(times: number): Filter<ArtifactDocument> {
  return times === 0 ? { withdrawals: { $exists: false } } : { withdrawals: times };
}

function nameOf(document: Pick<ArtifactDocument, 'package' | 'version'>) {
  return { package: document.package, version: document.version };
}

function artifactOf(document: ArtifactDocument): Artifact {
  const { _id: id, versionKey: _key, uploadId: _upload, audit: _, auditAtMs: __, ...artifact } = document;
  return { id, ...artifact, withdrawals: artifact.withdrawals ?? 0 };
}
