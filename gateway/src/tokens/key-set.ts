import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Warning } from '@headset-cloud/kit/lifecycle.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { failureReason } from '@headset-cloud/kit/outbound/reason.ts';
import { fetchJson } from './fetch-json.ts';
import { type Algorithm, type SigningKey, signingKeys } from './jwks.ts';

export interface KeySetOptions {
  readonly issuer: string;
  /** Absent: taken from the discovery document. */
  readonly jwksUri?: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Unknown key ids and wrong signatures together cause at most one fetch in this time. */
  readonly cooldownMs?: number;
  /** Wait after a failed fetch; milliseconds. */
  readonly retryMs?: number;
  /** Keys older than this are fetched again, while requests continue using the old ones. */
  readonly maxAgeMs?: number;
  readonly timeoutMs?: number;
  readonly limitBytes?: number;
  /** How the issuer is reached; default: directly. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * The issuer's public keys (rule C11): fetched when first needed (or by `look` before) and cached; fetched
 * again when they are old, and, throttled, when a token names an unknown key or its signature is wrong. While the
 * issuer is unavailable the cached keys are used. Why no library: ADR 0062.
 */
export class KeySet {
  readonly #options: Required<Omit<KeySetOptions, 'jwksUri'>> & Pick<KeySetOptions, 'jwksUri'>;
  #keys: readonly SigningKey[] | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** Why the last fetch failed. */
  #failure: string | undefined;
  #fetching: Promise<void> | undefined;
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
   * Changes whenever a key may have been withdrawn: tokens that were verified before must be verified
   * again.
   */
  get generation(): number {
    this.#refreshWhenOld();
    return this.#generation;
  }

  /** Age of the keys since they were last fetched; undefined before the first time. */
  get ageSeconds(): number | undefined {
    if (!this.#keys) return undefined;
    return (this.#nowMs() - this.#fetchedAt) / 1000;
  }

  /** Fetches the keys where there are none, they are old, or the last fetch failed. Never rejects. */
  async look(): Promise<void> {
    const { maxAgeMs, retryMs, cooldownMs } = this.#options;
    const fresh = this.#keys && !this.#failure && this.#nowMs() - this.#fetchedAt < maxAgeMs;
    // Known keys stay in use: then nobody waits for it.
    if (!fresh && this.#mayTry(this.#keys ? cooldownMs : retryMs)) await this.#fetch();
  }

  /** That the last fetch failed, with what follows from it. */
  get warnings(): readonly Warning[] {
    if (!this.#failure) return [];
    const age = this.ageSeconds;
    const then =
      age === undefined
        ? 'no access token can be checked, so that calls get 503'
        : `the keys of ${Math.round(age)} s ago stay in use`;
    const message = `${this.#options.issuer}: ${this.#failure}; ${then}`;
    return [{ name: 'issuer_unavailable', message }];
  }

  /**
   * The key for a token's header, or undefined when the issuer has none. Throws unavailable when no keys
   * can be fetched, or when the last fetch for an unknown key failed.
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
   * The key that the issuer publishes now under the key id of `old`, or undefined if it is still `old`. Called when a
   * signature fails: some issuers replace a key under the same id. Fetches the keys, throttled.
   */
  async replacementOf(old: SigningKey, algorithm: Algorithm): Promise<SigningKey | undefined> {
    await this.#fetchThrottled();
    const found = this.#pick(old.kid, algorithm);
    return found?.key.equals(old.key) ? undefined : found;
  }

  /** At most one fetch in `cooldownMs`, or in `retryMs` while fetches fail. Waits for a fetch that is running. */
  async #fetchThrottled(): Promise<void> {
    const wait = this.#failure ? this.#options.retryMs : this.#options.cooldownMs;
    if (this.#mayTry(wait)) await this.#fetch();
    else await this.#fetching;
  }

  #pick(kid: string | undefined, algorithm: Algorithm): SigningKey | undefined {
    const fitting = (this.#keys ?? []).filter((k) => k.algorithms.has(algorithm));
    if (kid !== undefined) return fitting.find((k) => k.kid === kid);
    // Without a key id exactly one key must fit.
    return fitting.length === 1 ? fitting[0] : undefined;
  }

  /** By the monotonic clock: a wall clock that is set back must not prolong the use of old keys. */
  #nowMs(): number {
    return monotonicMs(this.#options.clock);
  }

  #mayTry(waitMs: number): boolean {
    return !this.#fetching && this.#nowMs() - this.#triedAt >= waitMs;
  }

  #refreshWhenOld(): void {
    const { maxAgeMs, cooldownMs } = this.#options;
    if (this.#keys && this.#nowMs() - this.#fetchedAt >= maxAgeMs && this.#mayTry(cooldownMs))
      void this.#fetch();
  }

  /** Never rejects: a failure is logged and remembered. */
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
              "the issuer's keys are fetched again",
            );
          }
          this.#failure = undefined;
          this.#fetchedAt = this.#nowMs();
          const stays = (old: SigningKey) => keys.some((k) => k.kid === old.kid && k.key.equals(old.key));
          if (!before.every(stays)) this.#generation++;
        },
        (error) => {
          const reason = failureReason(error);
          // It is tried again every second.
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
      if (!secure) throw new Error('the discovery document names no safe address of the keys');
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
