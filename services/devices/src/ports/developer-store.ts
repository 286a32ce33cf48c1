import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';

export interface Developer {
  readonly developerId: string;
  readonly name: string;
  readonly clientIds: readonly string[];
}

export interface DeveloperStore {
  developerOfClient(clientId: string): Promise<string | undefined>;
  exists(developerId: string): Promise<boolean>;
  list(): Promise<Developer[]>;
  /** Stops at the first client id that belongs to another developer, and returns it. */
  put(developer: Developer, record: PendingAuditRecord): Promise<{ takenClientId: string } | undefined>;
}
