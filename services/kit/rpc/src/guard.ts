import type { DescMethod } from '@bufbuild/protobuf';
import type { ServerUnaryCall, StatusObject } from '@grpc/grpc-js';
import { createGatheredLog } from '@headset-cloud/runtime/gathered-log.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { callersOf, peersNamed } from './identity.ts';
import type { RpcSecurity } from './security.ts';
import { refusedCaller } from './status.ts';

/** Information of grpc-js about a caller. */
type AuthContext = ReturnType<ServerUnaryCall<unknown, unknown>['getAuthContext']>;

/**
 * Returns the rejection of a call, or undefined for a caller that the method's proto names. `peer`: the address of
 * the call's connection.
 */
export type Guard = (
  method: DescMethod,
) => (context: AuthContext, peer: string) => Partial<StatusObject> | undefined;

/** Authorizes each call by the certificate of its connection (rule C20). */
export function createGuard({ mode, domain, observe }: RpcSecurity, logger: Logger): Guard {
  const log = createGatheredLog((fields) =>
    logger.warn(fields, 'a call was refused: its method does not name the caller'),
  );
  return (method) => {
    const allowed = callersOf(method);
    const name = `${method.parent.typeName}/${method.name}`;
    return ({ sslPeerCertificate }, peer) => {
      // A connection without TLS exists in this mode only, and is counted when it is accepted.
      if (!sslPeerCertificate && mode === 'permissive') return undefined;
      const peers = peersNamed(sslPeerCertificate?.subjectaltname, domain);
      if (peers.some((peer) => allowed.has(peer))) return undefined;
      const caller = peers[0] ?? 'unknown';
      observe.callRefused(name, caller);
      log({ rpc: name, caller }, { peer, certificate: sslPeerCertificate?.subjectaltname });
      return refusedCaller();
    };
  };
}
