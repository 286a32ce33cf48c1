/** The caller that an access token names. */
export interface Principal {
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** The token's `jti`; empty: it has none. */
  readonly tokenId: string;
}

/** Verifies access tokens (rule C11). */
export interface TokenVerifier {
  /**
   * The principal of a token. Throws unauthenticated (401) when the token is not valid, unavailable (503)
   * when the issuer's keys cannot be fetched.
   */
  verify(token: string): Promise<Principal>;
}
