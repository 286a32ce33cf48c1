import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { ApplicationSettings, EndpointSetting } from '../domain/settings.ts';

export interface Application {
  readonly applicationId: string;
  readonly developerId: string;
  readonly name: string;
}

/** Applications. A forgotten application (ADR 0047) is unknown to all methods. */
export interface ApplicationStore {
  get(applicationId: string): Promise<Application | undefined>;
  list(developerId: string | undefined): Promise<Application[]>;
  /** False if the id is taken, or belonged to a forgotten application. */
  create(application: Application, nowMs: number, record: PendingAuditRecord): Promise<boolean>;
  settings(applicationId: string): Promise<ApplicationSettings | undefined>;
  /**
   * Whether the `deviceEvent` URL and the authentication key exist; undefined for an unknown application. One point
   * read.
   */
  destination(
    applicationId: string,
  ): Promise<{ deviceEvent: boolean; authenticationKey: boolean } | undefined>;
  /** Applies a change once per `changeId`. Returns the settings afterwards; undefined for an unknown application. */
  change(
    applicationId: string,
    change: {
      changeId: string;
      set: Readonly<Partial<Record<EndpointSetting | 'authenticationKey', string>>>;
      remove: readonly EndpointSetting[];
    },
    record: PendingAuditRecord,
  ): Promise<ApplicationSettings | undefined>;
}
