import { failureReason } from '@headset-cloud/outbound/reason.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Warning } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { fetchJson } from './fetch-json.ts';
import { type Algorithm, type SigningKey, signingKeys } from './jwks.ts';

export interface KeySetOptions {
  readonly issuer: string;
  /** Absent: read from the discovery document. */
  readonly jwksUri?: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Minimum time between two fetches because of unknown key ids and wrong signatures; milliseconds. */
  readonly cooldownMs?: number;
  /** Wait after a failed fetch; milliseconds. */
  readonly retryMs?: number;
  /** Age after which keys are fetched again, while requests continue to use the old keys; milliseconds. */
  readonly maxAgeMs?: number;
  readonly timeoutMs?: number;
  readonly limitBytes?: number;
  /** Fetch function for the issuer; default: direct connection. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * The issuer's public keys (rule C11). The first use or `refresh` fetches them, and they are cached. They are fetched
 * again when they are old, and, with a rate limit, when a token has an unknown key or a wrong signature. While the
 * issuer is unavailable, the cached keys stay in use. ADR 0062 explains why no library is used.
 */
export class KeySet {
  readonly #options: Required<Omit<KeySetOptions, 'jwksUri'>> & Pick<KeySetOptions, 'jwksUri'>;
  #keys: readonly SigningKey[] | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** Reason of the last failed fetch. */
  #failure: string | undefined;
  #fetching: Promise<void> | undefined;
  /** Number of fetches that found a key withdrawn or replaced. */
  #generation = 0;

  constructor(options: KeySetOptions) {
    this.#options = {
      cooldownMs: 10_000,
      retryMs: 1000,
      maxAgeMs: 600_000,
      timeoutMs: 3000,
      limitBytes: 256 * 1024,
      fetch: globalThis.fetch,
      ...options,
    };
  }

  /**
   * Changes when the issuer no longer publishes a key. Tokens that were verified at another generation must be verified
   * again. Reading it starts a fetch if the keys are old.
   */
  get generation(): number {
    this.#refreshWhenOld();
    return this.#generation;
  }

  /** Age of the keys since the last fetch, in seconds; undefined before the first fetch. */
  get ageSeconds(): number | undefined {
    if (!this.#keys) return undefined;
    return (this.#nowMs() - this.#fetchedAt) / 1000;
  }

  /** Fetches the keys if there are none, they are old, or the last fetch failed. Never rejects. */
  async refresh(): Promise<void> {
    const { maxAgeMs, retryMs, cooldownMs } = this.#options;
    const fresh = this.#keys && !this.#failure && this.#nowMs() - this.#fetchedAt < maxAgeMs;
    // Known keys stay in use during the fetch, so no request waits.
    if (!fresh && this.#mayTry(this.#keys ? cooldownMs : retryMs)) await this.#fetch();
  }

  /** Warning about a failed fetch, with its effect. */
  get warnings(): readonly Warning[] {
    if (!this.#failure) return [];
    const age = this.ageSeconds;
    const effect =
      age === undefined
        ? 'no access token can be checked, calls get 503'
        : `the keys of ${Math.round(age)} s ago stay in use`;
    const message = `${this.#options.issuer}: ${this.#failure}; ${effect}`;
    return [{ name: 'issuer_unavailable', message }];
  }

  /**
   * Returns the key for a token's header; undefined if the issuer has none. Throws unavailable if there are no keys, or
   * if the key is unknown and the last fetch failed.
   */
  async find(kid: string | undefined, algorithm: Algorithm): Promise<SigningKey | undefined> {
    if (!this.#keys) {
      if (this.#mayTry(this.#options.retryMs)) await this.#fetch();
      else await this.#fetching;
      if (!this.#keys) throw this.#unavailable();
    }
    const known = this.#pick(kid, algorithm);
    if (known) return known;
    await this.#fetchThrottled();
    const found = this.#pick(kid, algorithm);
    if (!found && this.#failure) throw this.#unavailable();
    return found;
  }

  /**
   * Returns the key that the issuer now publishes with the key id of `old`; undefined if that key is `old` or there is
   * none. Called when a signature is wrong, because some issuers replace a key without changing its id. Fetches the
   * keys first, with a rate limit.
   */
  async replacementOf(old: SigningKey, algorithm: Algorithm): Promise<SigningKey | undefined> {
    await this.#fetchThrottled();
    const found = this.#pick(old.kid, algorithm);
    return found?.key.equals(old.key) ? undefined : found;
  }

  /** Makes at most one fetch in `cooldownMs`, or in `retryMs` while fetches fail. Waits for a running fetch. */
  async #fetchThrottled(): Promise<void> {
    const waitMs = this.#failure ? this.#options.retryMs : this.#options.cooldownMs;
    if (this.#mayTry(waitMs)) await this.#fetch();
    else await this.#fetching;
  }

  #pick(kid: string | undefined, algorithm: Algorithm): SigningKey | undefined {
    const usable = (this.#keys ?? []).filter((k) => k.algorithms.has(algorithm));
    if (kid !== undefined) return usable.find((k) => k.kid === kid);
    // Without a key id exactly one key must match.
    return usable.length === 1 ? usable[0] : undefined;
  }

  /** Monotonic clock, because a wall clock that is set back must not prolong the use of old keys. */
  #nowMs(): number {
    return monotonicMs(this.#options.clock);
  }

  /** True if no fetch is running and the last one began at least `waitMs` ago. */
  #mayTry(waitMs: number): boolean {
    return !this.#fetching && this.#nowMs() - this.#triedAt >= waitMs;
  }

  #refreshWhenOld(): void {
    const { maxAgeMs, cooldownMs } = this.#options;
    if (this.#keys && this.#nowMs() - this.#fetchedAt >= maxAgeMs && this.#mayTry(cooldownMs))
      void this.#fetch();
  }

  /** Fetches the keys. Never rejects: a failure is logged and stored. */
  #fetch(): Promise<void> {
    this.#triedAt = this.#nowMs();
    this.#fetching = this.#load()
      .then(
        (keys) => {
          const before = this.#keys ?? [];
          this.#keys = keys;
          if (this.#failure) {
            this.#options.logger.info(
              { issuer: this.#options.issuer },
              "the issuer's keys can be fetched again",
            );
          }
          this.#failure = undefined;
          this.#fetchedAt = this.#nowMs();
          const isPublished = (old: SigningKey) =>
            keys.some((k) => k.kid === old.kid && k.key.equals(old.key));
          if (!before.every(isPublished)) this.#generation++;
        },
        (error) => {
          const reason = failureReason(error);
          // Logs only a changed reason, because the fetch is retried every second.
          if (reason !== this.#failure) {
            this.#options.logger.warn(
              { issuer: this.#options.issuer, err: error },
              "the issuer's keys cannot be fetched",
            );
          }
          this.#failure = reason;
        },
      )
      .finally(() => {
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #load(): Promise<SigningKey[]> {
    const { issuer, timeoutMs, limitBytes, fetch } = this.#options;
    const bounds = { timeoutMs, limitBytes, fetch };
    let uri = this.#options.jwksUri;
    if (uri === undefined) {
      const at = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
      const discovery = (await fetchJson(at, bounds)) as Record<string, unknown> | null;
      if (discovery?.['issuer'] !== issuer) {
        throw new Error(`the discovery document names another issuer than ${issuer}`);
      }
      uri = String(discovery['jwks_uri']);
      const secure = /^https:\/\//i.test(uri) || (/^http:\/\//i.test(uri) && /^http:\/\//i.test(issuer));
      if (!secure) throw new Error('the discovery document contains no safe address of the keys');
    }
    const keys = signingKeys(await fetchJson(uri, bounds));
    if (keys.length === 0) throw new Error('the issuer publishes no usable key');
    return keys;
  }

  #unavailable(): DomainError {
    return new DomainError('unavailable', 'Access tokens cannot be checked at the moment.', {
      internal: 'the keys of the issuer cannot be fetched',
      retryAfterMs: this.#options.retryMs,
    });
  }
}
