/** Who calls, as an access token says. */
export interface Principal {
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
}

/** Judges access tokens (rule C11). */
export interface TokenVerifier {
  /**
   * The principal of a token. Throws unauthenticated (401) when the token is not good, unavailable
   * (503) when the issuer's keys cannot be had.
   */
  verify(token: string): Promise<Principal>;
}
