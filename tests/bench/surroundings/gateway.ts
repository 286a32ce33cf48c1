import { Session } from 'node:inspector/promises';
import { buildGateway } from '@headset-cloud/gateway/app.ts';
import { createGatewayClients } from '@headset-cloud/gateway/clients.ts';
import { gatewayConfig } from '@headset-cloud/gateway/config.ts';
import { createGatewayServer, type GatewayServer } from '@headset-cloud/gateway/server.ts';
import { createShares } from '@headset-cloud/gateway/shares/shares.ts';
import { createFakes } from '@headset-cloud/gateway/testing/fakes.ts';
import { signToken, startTestIssuer, type TestIssuer, testKey } from '@headset-cloud/gateway/testing/keys.ts';
import { KeySet } from '@headset-cloud/gateway/tokens/key-set.ts';
import { createTokenVerifier } from '@headset-cloud/gateway/tokens/verifier.ts';
import { GrpcChannel, RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { serveCommands } from '../lib/worker.ts';

/**
 * The real gateway alone in a process, with stand-in services that answer at once over gRPC (this file in
 * another process, in the role `services`), so that the measured time is the gateway's own.
 */
let issuer: TestIssuer | undefined;
let server: GatewayServer | undefined;
const session = new Session();

const audience = 'urn:bench';

const commands = {
  /** Starts the stand-in services; returns their port. */
  services: async (_: object): Promise<number> => {
    const logger = createLogger({ service: 'bench', level: 'silent' });
    return new RpcServer([...createFakes().bindings], logger).start({ host: '127.0.0.1', port: 0 });
  },

  /** Starts the gateway; returns its origin and a token. */
  gateway: async ({ services }: { services: number }): Promise<{ origin: string; token: string }> => {
    const key = testKey('key-1', 'ES256');
    issuer = await startTestIssuer([key]);
    const config = readConfig(gatewayConfig, {
      GATEWAY_LISTEN: '127.0.0.1:0',
      OIDC_ISSUER: issuer.url,
      OIDC_AUDIENCE: audience,
    });
    const logger = createLogger({ service: 'gateway', level: 'error' });
    const channel = new GrpcChannel(`127.0.0.1:${services}`);
    const keys = new KeySet({ issuer: issuer.url, logger, clock: systemClock });
    const metrics = new Registry();
    server = createGatewayServer(
      buildGateway({
        clients: createGatewayClients(() => channel, config.UPSTREAM_DEADLINE_MS),
        tokens: createTokenVerifier({ issuer: issuer.url, audience, keys, clock: systemClock }),
        config,
        logger,
        clock: systemClock,
        metrics,
        shares: createShares({ clock: systemClock, hasPeers: false }),
      }),
      config,
      logger,
    );
    await server.start();
    const token = signToken(key, {
      iss: issuer.url,
      aud: audience,
      exp: Math.floor(Date.now() / 1000) + 3600,
      client_id: 'client-1',
      sub: 'client-1',
      scope: 'cws:device:write cws:device:read',
    });
    return { origin: `http://127.0.0.1:${server.port}`, token };
  },

  profile: async (_: object): Promise<void> => {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
  },

  /** Time in functions of matching files including callees, and busy time; milliseconds. */
  share: async ({ file }: { file: string }): Promise<{ matchedMs: number; busyMs: number }> => {
    const { profile } = await session.post('Profiler.stop');
    const own = new Map<number, number>();
    for (const [i, id] of (profile.samples ?? []).entries()) {
      own.set(id, (own.get(id) ?? 0) + (profile.timeDeltas?.[i] ?? 0));
    }
    const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
    const sums = { matched: 0, busy: 0 };
    const walk = (id: number, inside: boolean): void => {
      const node = nodes.get(id);
      if (!node) return;
      const { url, functionName } = node.callFrame;
      const within = inside || url.includes(file);
      // (program) is mostly the time in which other processes used the core.
      if (functionName !== '(idle)' && functionName !== '(program)') sums.busy += own.get(id) ?? 0;
      if (within) sums.matched += own.get(id) ?? 0;
      for (const child of node.children ?? []) walk(child, within);
    };
    walk(profile.nodes[0]?.id ?? 0, false);
    return { matchedMs: sums.matched / 1000, busyMs: sums.busy / 1000 };
  },

  stop: async (_: object): Promise<void> => {
    await server?.stop();
    await issuer?.close();
  },
};
export type GatewaySurroundings = typeof commands;
serveCommands(commands);
