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
 * Returns the error for a call that its caller is not authorized to make; undefined if the method's proto lists the
 * caller. `peer`: the address of the call's connection.
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
      // Only this mode accepts connections without TLS; SecureListener has counted the connection.
      if (!sslPeerCertificate && mode === 'permissive') return undefined;
      const components = peersNamed(sslPeerCertificate?.subjectaltname, domain);
      if (components.some((component) => allowed.has(component))) return undefined;
      const caller = components[0] ?? 'unknown';
      observe.callRefused(name, caller);
      log({ rpc: name, caller }, { peer, certificate: sslPeerCertificate?.subjectaltname });
      return refusedCaller();
    };
  };
}
