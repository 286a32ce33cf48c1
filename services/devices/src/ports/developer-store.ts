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
  /** Creates or replaces a developer. If a client id belongs to another developer, stops and returns that client id. */
  put(developer: Developer, record: PendingAuditRecord): Promise<{ takenClientId: string } | undefined>;
}
