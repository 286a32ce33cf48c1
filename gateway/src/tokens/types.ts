/** The caller that an access token identifies. */
export interface Principal {
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** The token's `jti`; empty if it has none. */
  readonly tokenId: string;
}

/** Verifies access tokens (rule C11). */
export interface TokenVerifier {
  /**
   * Returns the principal of a token. Throws unauthenticated (401) if the token is not valid, unavailable (503) if the
   * issuer's keys cannot be fetched.
   */
  verify(token: string): Promise<Principal>;
}
