import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { BlockList } from 'node:net';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ActorSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { addressOf } from '@headset-cloud/runtime/listeners/address.ts';

/** Headers of an operator's call; the name is percent-encoded. */
export const operatorHeaders = { operator: 'x-operator', requestId: 'x-request-id' } as const;

const maxCharacters = 100;

/**
 * The operator who makes a call to the admin port. The caller supplies the name. The platform cannot verify it, because
 * operators share the admin token.
 */
export function operatorOf(
  request: IncomingMessage,
  proxies: BlockList,
): MessageInitShape<typeof ActorSchema> {
  const id = String(request.headers[operatorHeaders.requestId] ?? '');
  return {
    operator: nameOf(String(request.headers[operatorHeaders.operator] ?? '')) || 'unnamed operator',
    address: addressOf(request, proxies),
    requestId: /^[A-Za-z0-9._-]{1,128}$/.test(id) ? id : randomUUID(),
  };
}

/** A name in one line, without control characters. */
function nameOf(given: string): string {
  let name = given;
  try {
    name = decodeURIComponent(given);
  } catch {
    // The name is not encoded.
  }
  return cut(name.replaceAll(/\p{C}/gu, '').trim(), maxCharacters);
}
