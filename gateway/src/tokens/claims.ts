import { type GatewayConfig, gatewayConfig } from '../config.ts';

/** The claims of an access token that the gateway reads. They depend on the issuer (docs/operations/issuer.md). */
export interface ClaimRules {
  /** Claims that may contain the client. The first claim that a token has counts. */
  readonly clientClaims: readonly string[];
  /** Claims that may contain scopes. All of them count. */
  readonly scopeClaims: readonly string[];
  /** Only scopes with this prefix count, without the prefix. */
  readonly scopePrefix: string;
  /** True if a token without `aud` is accepted. */
  readonly acceptsMissingAudience: boolean;
}

type Claims = Readonly<Record<string, unknown>>;

/** The rules of the configuration. */
export function claimRulesOf(
  config: Pick<
    GatewayConfig,
    'OIDC_CLIENT_CLAIMS' | 'OIDC_SCOPE_CLAIMS' | 'OIDC_SCOPE_PREFIX' | 'OIDC_MISSING_AUDIENCE'
  >,
): ClaimRules {
  return {
    clientClaims: config.OIDC_CLIENT_CLAIMS.split(','),
    scopeClaims: config.OIDC_SCOPE_CLAIMS.split(','),
    scopePrefix: config.OIDC_SCOPE_PREFIX ?? '',
    acceptsMissingAudience: config.OIDC_MISSING_AUDIENCE === 'accept',
  };
}

export const defaultClaimRules: ClaimRules = claimRulesOf({
  OIDC_CLIENT_CLAIMS: gatewayConfig.OIDC_CLIENT_CLAIMS.default,
  OIDC_SCOPE_CLAIMS: gatewayConfig.OIDC_SCOPE_CLAIMS.default,
  OIDC_SCOPE_PREFIX: undefined,
  OIDC_MISSING_AUDIENCE: gatewayConfig.OIDC_MISSING_AUDIENCE.default,
});

/** The client's id; undefined if the token contains none. */
export function clientOf(claims: Claims, rules: ClaimRules): string | undefined {
  const name = rules.clientClaims.find((claim) => claims[claim] !== undefined);
  const client = name === undefined ? undefined : claims[name];
  return typeof client === 'string' && client !== '' ? client : undefined;
}

/** The scopes of all scope claims. Each claim is a space-separated text or a list. */
export function scopesOf(claims: Claims, { scopeClaims, scopePrefix }: ClaimRules): Set<string> {
  const scopes = scopeClaims.flatMap((claim): unknown[] => {
    const value = claims[claim];
    if (typeof value === 'string') return value.split(' ');
    return Array.isArray(value) ? value : [];
  });
  return new Set(
    scopes
      .filter((scope): scope is string => typeof scope === 'string' && scope.startsWith(scopePrefix))
      .map((scope) => scope.slice(scopePrefix.length))
      .filter((scope) => scope !== ''),
  );
}

/** True if a token is for `audience`. */
export function isForAudience(audience: string, { aud }: Claims, rules: ClaimRules): boolean {
  if (aud === undefined) return rules.acceptsMissingAudience;
  return Array.isArray(aud) ? aud.includes(audience) : aud === audience;
}
