import { createHash } from 'node:crypto';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import { namesOf } from '@headset-cloud/rules/audit/record.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import {
  requireArchiveUrl,
  requireConnectionLimit,
  requireEndpointId,
  requireSignalingUrl,
  requireSoraVersion,
  requireWebhookSecret,
} from '../domain/endpoint.ts';
import { takenAt } from '../domain/places.ts';
import type { Endpoint, EndpointStore, EndpointWithPlaces } from '../ports/endpoint-store.ts';
import type { Recording, RecordingStore } from '../ports/recording-store.ts';
import { applicationForgetHandler, type ForgetApplicationDependencies } from './forget-application.ts';
import { type ForgetDependencies, forgetHandler } from './forget-device.ts';

/** SHA-256 of a webhook's secret, hexadecimal. Only the hash is stored. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The operators' listener (rule C17). */
export function communicationAdmin(deps: {
  endpoints: EndpointStore;
  recordings: RecordingStore;
  clock: Clock;
  audit: Audit;
  forgetting: ForgetDependencies & ForgetApplicationDependencies;
}): RpcBinding {
  const { endpoints, recordings, clock, audit } = deps;
  const endpointMessage = ({ places, ...endpoint }: EndpointWithPlaces) => ({
    ...endpoint,
    taken: takenAt(places, clock.now()),
  });
  const notFound = (problem: string) => new DomainError('not_found', `${problem} Put an endpoint first.`);

  return bind(CommunicationAdminService, {
    ...forgetHandler(deps.forgetting),
    ...applicationForgetHandler(deps.forgetting),
    async putEndpoint({ endpoint: given }) {
      const endpoint: Endpoint = {
        endpointId: requireEndpointId(given?.endpointId ?? ''),
        signalingUrl: requireSignalingUrl(given?.signalingUrl ?? ''),
        soraVersion: requireSoraVersion(given?.soraVersion ?? ''),
        connectionLimit: requireConnectionLimit(given?.connectionLimit ?? 0),
        archiveUrl: requireArchiveUrl(given?.archiveUrl ?? ''),
      };
      const secret = given?.webhookSecret || undefined;
      const hash = secret && hashSecret(requireWebhookSecret(secret));
      const { endpointId: target, ...fields } = endpoint;
      const subject = { target, fields: namesOf({ ...fields, webhookSecret: hash }) };
      const outcome = await audit.change(subject, (record) => endpoints.put(endpoint, hash, record));
      if (outcome === 'secret_missing') {
        throw new DomainError('invalid_argument', 'webhook_secret is missing: a new endpoint needs one.');
      }
      const put = (await endpoints.enabled()).find((one) => one.endpointId === endpoint.endpointId);
      return { endpoint: put ? endpointMessage(put) : endpoint };
    },

    async listEndpoints() {
      const [all, version] = await Promise.all([endpoints.enabled(), endpoints.defaultVersion()]);
      return { endpoints: all.map(endpointMessage), defaultVersion: version ?? '' };
    },

    async removeEndpoint({ endpointId }) {
      const subject = { target: endpointId, fields: ['enabled'] };
      const removed = await audit.change(subject, (record) => endpoints.remove(endpointId, record));
      if (!removed) throw notFound(`The endpoint ${endpointId} does not exist.`);
      return {};
    },

    async setDefaultVersion({ soraVersion }) {
      requireSoraVersion(soraVersion);
      if (!(await endpoints.enabled()).some((endpoint) => endpoint.soraVersion === soraVersion)) {
        throw notFound(`No endpoint has the version ${soraVersion}.`);
      }
      await audit.change({ fields: ['soraVersion'] }, (record) =>
        endpoints.setDefaultVersion(soraVersion, record),
      );
      return {};
    },

    async listRecordings({ applicationId, limit }) {
      if (limit > 1000) throw new DomainError('invalid_argument', `limit ${limit} is more than 1000.`);
      const list = await recordings.list(applicationId || undefined, limit || 100);
      return { recordings: list.map(recordingMessage) };
    },
  });
}

function recordingMessage(recording: Recording) {
  const { recordingId, channelId, applicationId, state, message, attempts, files, partBytes } = recording;
  const sent = files.map(({ bytes, done, parts }) =>
    done ? bytes : Math.min(bytes, parts.length * partBytes),
  );
  return {
    ...{ recordingId, channelId, applicationId, state, message, attempts },
    createdAtMs: BigInt(recording.createdAtMs),
    uploadedBytes: BigInt(sent.reduce((sum, bytes) => sum + bytes, 0)),
    totalBytes: BigInt(files.reduce((sum, { bytes }) => sum + bytes, 0)),
  };
}
